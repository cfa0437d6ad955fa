"""Expressions whose bare values people see, one for every public kind of object."""

SETUP = """
import warnings; warnings.simplefilter("ignore")
import numpy as np, pandas as pd
from priorwise import *
from priorwise import data, datasets, evaluation, explain, export, smoothing
from priorwise.datasets import make_led
rng, n = np.random.default_rng(0), 120
X = pd.DataFrame({
    "age": rng.integers(18, 80, n).astype(float), "income": rng.lognormal(10, 0.6, n),
    "the job of a person with a name that is very long": rng.choice(["clerk", "<b>nurse</b>"], n),
    "smoker": rng.choice([True, False], n), "installment_commitment": rng.integers(1, 5, n) * 1.0,
})
X = X.assign(**{f"x{i}": rng.normal(size=n) for i in range(50)})
y = np.where(X.age + rng.normal(size=n) * 9 > 50, "yes", "no")
few, hard = X.iloc[:, :5], rng.choice([f"class {k}" for k in range(12)], n)
pool = PriorwiseClassifier("fast", random_state=0).fit(few, y)
many = LogLinearPool([("bayes", NaiveBayesClassifier()), ("kdb", KDBClassifier())]).fit(X, hard)
kdb, tree = KDBClassifier().fit(X, y), ProbabilityTreeClassifier().fit(few, y)
given = [few.columns[2], "smoker"]
table = ConditionalTable().fit(few.assign(y=y), target="y", given=given)
general = BayesianNetwork().fit(few[given].assign(y=y))
p = np.linspace(0.01, 0.99, n)
folder = __import__("pathlib").Path(__import__("tempfile").mkdtemp())
kdb.save(folder / "model.pw")
(folder / "led.arff").write_text("@relation led\\n@attribute a {0,1}\\n@data\\n0\\n1\\n")
cv_results = evaluation.cross_validate(
    {"bayes": NaiveBayesClassifier()}, {"led": make_led(60)}, protocol="2x2", progress=False
)
scores = {"a": list(rng.normal(size=30)), "b": list(rng.normal(size=30))}
"""

DRAWN = [
    "pool", "many", "kdb", "tree", "table", "general", "general.query(['y'], {'smoker': True})",
    "pool.explain(few)", "many.explain(X)", "many.explain_global(X)",
    "pool.explain_global(few).shapes['income']", "many.score_report()", "many.summary()",
    "kdb.feature_schema_", "kdb.check(X.assign(age=200.0))", "kdb.structure_",
    "evaluation.reliability_curve(y, p, event='yes')",
]  # fmt: skip
"""Objects that notebooks draw."""

SHORT = [
    "general.equivalence_class()", "general.arcs_", "general.table('y')", "pool.step_",
    "many.step_", "kdb.step_", "tree.step_", "tree.tree_", "table.count_tree_", "kdb.encoder_",
    "kdb.card()", "export.export_c(kdb)", "export.export_json(kdb)",
    "export.export_sql(kdb)", "export.export_c(kdb, folder / 'model.c')",
    "export.javascript_evaluator()", "read_header(folder / 'model.pw')",
    "explain.export_text(tree)", "kdb.explain(X).to_json()", "kdb.structure_.to_graphviz()",
    "list_trusted_types()", "datasets.SUITES", "datasets.SUITES['uci']",
    "datasets.fetch_suite('uci')", "datasets.fetch_suite('uci')['iris']",
    "datasets.find_datasets(folder)", "list(datasets.find_datasets(folder).values())[0]",
    "data.read_arff(folder / 'led.arff')", "cv_results", "evaluation.nemenyi(scores)[0]",
    "evaluation.corrected_t_test(*scores.values(), test_train_ratio=0.1)",
    "evaluation.decompose(y, p)", "evaluation.Protocol(5, 2)",
    "evaluation.SCORES", "evaluation.SCORERS", "evaluation.sign_test(3, 5)", "smoothing.HDP()",
    "data.MDLPDiscretizer().fit(X[['age']], y)", "data.FrameEncoder().fit(X)",
    "pool.pool_weights_", "evaluation.friedman_test(scores)", "evaluation.nemenyi(scores)",
    "evaluation.win_draw_loss(*scores.values())", "evaluation.rank_models(scores)",
]  # fmt: skip
"""Objects whose text is short."""
