"""
A tree as C
===========

A fitted tree becomes one C file without dependencies, for a device or any other program. The tree
is drawn first; then it is written as C, compiled, if there is a compiler, and asked about a
flower.
"""

import ctypes
import shutil
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

import matplotlib.pyplot as plt
from sklearn.datasets import load_iris

from priorwise import ProbabilityTreeClassifier
from priorwise.explain import plot_tree
from priorwise.export import export_c

data = load_iris()
X, y = data.data, data.target_names[data.target]
model = ProbabilityTreeClassifier("m-branch", criterion="gain", max_depth=3).fit(X, y)

figure, axis = plt.subplots(figsize=(7, 4), layout="constrained")
plot_tree(model, max_depth=2, ax=axis)
axis.set_title("x2 is the length of the petals, x3 their width")

# %%
# The same tree as C: these are its last lines.

code = export_c(model)
print("\n".join(code.splitlines()[-24:]))

# %%
# Compiled, and called through `ctypes`, it gives the probabilities of Python.

flower = X[77]
print("Python:", model.predict_proba([flower])[0].round(6))
if compiler := shutil.which("cc"):
    with TemporaryDirectory() as folder:
        source, library = Path(folder, "model.c"), Path(folder, "model.so")
        source.write_text(code)
        command = [compiler, "-O2", "-shared", "-fPIC", source, "-o", library, "-lm"]
        subprocess.run(command, check=True)
        row, proba = (ctypes.c_double * 4)(*flower), (ctypes.c_double * 3)()
        ctypes.CDLL(str(library)).model_predict_proba(row, proba)
        print("C:     ", [round(p, 6) for p in proba])
