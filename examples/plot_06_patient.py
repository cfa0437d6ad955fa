"""
The log-odds of one patient
===========================

Why does the model say that a tumour is malignant? `explain` splits the log-odds of each prediction
into what each feature adds. The parts add up exactly, for every classifier of the library.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer

from priorwise import PriorwiseClassifier
from priorwise.explain import plot_explanation

data = load_breast_cancer(as_frame=True)
X = data.data[[name for name in data.data if name.startswith("mean")]]
y = data.target_names[data.target]
model = PriorwiseClassifier("fast", random_state=0).fit(X[100:], y[100:])

# %%
# The patient of the first hundred about whom the model is least sure.

proba = model.predict_proba(X[:100])
patient = int(np.argmax(-np.abs(proba[:, 0] - 0.5)))
explanation = model.explain(X[:100])
figure, axis = plt.subplots(figsize=(8, 4.5), layout="constrained")
plot_explanation(explanation, row=patient, of_class="malignant", ax=axis)

# %%
# The bias and the contributions sum to the log-odds of the prediction.

total = explanation.bias[0] + explanation.contributions[patient, :, 0].sum()
log_proba = np.log(proba[patient])
print(f"{total:.6f} = {log_proba[0] - log_proba.mean():.6f}")
