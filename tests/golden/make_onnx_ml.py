"""Cases of ai.onnx.ml: tests/golden/make_onnx.py has the rest."""
from make_onnx import *

import lightgbm
import xgboost
from onnxmltools.convert import convert_lightgbm, convert_xgboost
from onnxmltools.convert.common.data_types import FloatTensorType as OtherFloat
from skl2onnx import to_onnx
from skl2onnx.common.data_types import FloatTensorType, StringTensorType
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import GradientBoostingClassifier, GradientBoostingRegressor, \
    RandomForestClassifier, RandomForestRegressor
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, Normalizer, OneHotEncoder, OrdinalEncoder, StandardScaler
from sklearn.svm import SVC, SVR, LinearSVC, NuSVR, OneClassSVM
from sklearn.tree import DecisionTreeClassifier, ExtraTreeRegressor

NAN = float("nan")
words = np.array([["cat", "dog"], ["bird", "cat"], ["fish", "dog"]], dtype=object)
sequence = lambda k: helper.make_value_info("y0", helper.make_sequence_type_proto(helper.make_map_type_proto(k, helper.make_tensor_type_proto(T.FLOAT, []))))

# ---- encoders, features
node("ml_extract", "ArrayFeatureExtractor", [f32(3, 4), np.array([[2, 0, 2]])], [T.FLOAT], version=1)
node("ml_extract_row", "ArrayFeatureExtractor", [np.arange(5), np.array([4, 1])], [T.INT64], version=1)
node("ml_extract_text", "ArrayFeatureExtractor", [words, np.array([1])], [T.STRING], version=1)
node("ml_binarizer", "Binarizer", [f32(3, 4)], [T.FLOAT], version=1, threshold=0.2)
node("ml_map_text", "CategoryMapper", [words], [T.INT64], version=1, cats_strings=["cat", "dog"], cats_int64s=[7, -3], default_int64=9)
node("ml_map_int", "CategoryMapper", [np.array([[7, 5], [-3, 7]])], [T.STRING], version=1, cats_strings=["cat", "dog"], cats_int64s=[7, -3], default_string="?")
node("ml_vector", "FeatureVectorizer", [f32(3, 2), f32(3, 3)], [T.FLOAT], version=1, inputdimensions=[2, 3])
node("ml_impute", "Imputer", [np.array([[1, NAN, 3], [NAN, 5, NAN]], np.float32)], [T.FLOAT], version=1, imputed_value_floats=[10., 20., 30.], replaced_value_float=NAN)
node("ml_impute_one", "Imputer", [np.array([[1, 2, 3], [2, 5, 2]], np.int64)], [T.INT64], version=1, imputed_value_int64s=[-1], replaced_value_int64=2)
node("ml_label_1", "LabelEncoder", [words], [T.INT64], version=1, classes_strings=["dog", "cat", "ant"], default_int64=-5)
node("ml_label_1_int", "LabelEncoder", [np.array([2, 0, 7])], [T.STRING], version=1, classes_strings=["dog", "cat", "ant"])
node("ml_label_text", "LabelEncoder", [words], [T.STRING], version=2, keys_strings=["dog", "cat"], values_strings=["x", "yy"], default_string="none")
node("ml_label_floats", "LabelEncoder", [np.array([[1.5, NAN], [2.5, 0]], np.float32)], [T.INT64], version=4, keys_floats=[2.5, NAN, 1.5], values_int64s=[3, 4, 5], default_int64=6)
node("ml_label_ints", "LabelEncoder", [np.array([5, -7, 2**40, 1])], [T.FLOAT], version=2, keys_int64s=[2**40, 5, -7], values_floats=[.5, 1.5, 2.5], default_float=-1.)
node("ml_label_int_text", "LabelEncoder", [np.array([5, -7, 1])], [T.STRING], version=2, keys_int64s=[5, -7], values_strings=["five", "minus seven"])
node("ml_one_hot", "OneHotEncoder", [np.array([[3, 1], [5, 9]])], [T.FLOAT], version=1, cats_int64s=[1, 3, 5])
node("ml_one_hot_float", "OneHotEncoder", [np.array([3, 1, 5], np.float32)], [T.FLOAT], version=1, cats_int64s=[1, 3, 5], zeros=0)
node("ml_one_hot_text", "OneHotEncoder", [words], [T.FLOAT], version=1, cats_strings=["dog", "cat"])
node("ml_scale", "Scaler", [f32(3, 4)], [T.FLOAT], version=1, offset=[1., 2., 3., 4.], scale=[2., .5, 1., 3.])
node("ml_scale_one", "Scaler", [np.arange(6).reshape(2, 3)], [T.FLOAT], version=1, offset=[1.5], scale=[2.])
for norm in ("MAX", "L1", "L2"):
    node("ml_norm_" + norm.lower(), "Normalizer", [np.vstack([f32(3, 4), np.zeros((1, 4), np.float32)])], [T.FLOAT], version=1, norm=norm)
node("ml_zip", "ZipMap", [f32(3, 2)], [sequence(T.INT64)], version=1, classlabels_int64s=[4, -2])
node("ml_zip_text", "ZipMap", [f32(2, 3)], [sequence(T.STRING)], version=1, classlabels_strings=["a", "bc", ""])
node("ml_dict", "DictVectorizer", [{"a": 1.5, "zz": 2.5, "c": 3.5}], [T.FLOAT], version=1, string_vocabulary=["c", "b", "a"])
node("ml_dict_int", "DictVectorizer", [{3: 1.5, -2: 2.5}], [T.FLOAT], version=1, int64_vocabulary=[5, -2, 3])
node("ml_cast_map", "CastMap", [{3: 1.5, 1: 2.5}], [T.FLOAT], version=1)
node("ml_cast_map_sparse", "CastMap", [{3: 1.5, 1: 2.7}], [T.INT64], version=1, map_form="SPARSE", max_map=6, cast_to="TO_INT64")

# ---- linear
for post in ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO"):
    low = post.lower()
    node("ml_linear_3_" + low, "LinearClassifier", [f32(5, 4)], [T.INT64, T.FLOAT], version=1, coefficients=f32(12).tolist(), intercepts=[.1, .2, -.3],
         classlabels_ints=[3, 4, 9], post_transform=post)
    node("ml_linear_2_" + low, "LinearClassifier", [f32(5, 4)], [T.STRING, T.FLOAT], version=1, coefficients=f32(4).tolist(), intercepts=[.1],
         classlabels_strings=["no", "yes"], post_transform=post)
node("ml_linear_regressor", "LinearRegressor", [f32(5, 4)], [T.FLOAT], version=1, coefficients=f32(8).tolist(), intercepts=[.1, .2], targets=2)

# ---- trained models
X = f32(60, 4)
y3 = np.digitize(X[:, 0] + X[:, 1] * X[:, 2], [-.5, .6])
y2 = (X[:, 0] * X[:, 3] > 0.1).astype(int)
yt = np.array(["low", "mid", "top"])[y3]
yr = (X[:, 0] + np.sin(3 * X[:, 1])).astype(np.float32)
yr2 = np.stack([yr, X[:, 2] * X[:, 3]], 1)
test = np.vstack([f32(12, 4), np.array([[NAN, 1, 2, 3], [np.inf, -np.inf, 0, 0]], np.float32)])
finite = test[:12]


def sk(name, model, y, x=finite, zipmap=False, train=X):
    if ONLY in name:
        model.fit(train, y)
        classifier = hasattr(model, "classes_")
        opts = {id(model): {"zipmap": zipmap}} if classifier and not isinstance(model, LinearSVC) else None
        case(name, to_onnx(model, train[:1], options=opts, target_opset={"": 15, "ai.onnx.ml": 3}), [x])


sk("sk_tree", DecisionTreeClassifier(max_depth=5, random_state=0), y3)
sk("sk_forest", RandomForestClassifier(n_estimators=5, max_depth=4, random_state=0), y3, zipmap=True)
sk("sk_forest_2", RandomForestClassifier(n_estimators=4, max_depth=4, random_state=0), y2)
sk("sk_forest_text", RandomForestClassifier(n_estimators=4, max_depth=3, random_state=0), yt, zipmap=True)
sk("sk_forest_regressor", RandomForestRegressor(n_estimators=5, max_depth=4, random_state=0), yr2)
sk("sk_extra_tree", ExtraTreeRegressor(max_depth=5, random_state=0), yr)
sk("sk_boosted_2", GradientBoostingClassifier(n_estimators=6, max_depth=3, random_state=0), y2)
sk("sk_boosted_3", GradientBoostingClassifier(n_estimators=4, max_depth=3, random_state=0), y3)
sk("sk_boosted_regressor", GradientBoostingRegressor(n_estimators=6, max_depth=3, random_state=0), yr)
sk("sk_logistic_2", LogisticRegression(), y2)
sk("sk_logistic_3", LogisticRegression(), yt, zipmap=True)
sk("sk_linear", LinearRegression(), yr2)
sk("sk_svc_rbf", SVC(kernel="rbf", gamma=.5), y3)
sk("sk_svc_2", SVC(kernel="rbf", gamma=.5), y2)
sk("sk_svc_poly", SVC(kernel="poly", degree=3, gamma=.3, coef0=1.), y3)
sk("sk_svc_sigmoid", SVC(kernel="sigmoid", gamma=.2), yt)
sk("sk_svc_probability_3", SVC(kernel="rbf", gamma=.5, probability=True, random_state=0), y3)
sk("sk_svc_probability_2", SVC(kernel="linear", probability=True, random_state=0), y2)
sk("sk_linear_svc", LinearSVC(), y3)
sk("sk_svr", SVR(kernel="rbf", gamma=.5), yr)
sk("sk_nu_svr", NuSVR(kernel="poly", gamma=.3), yr)
sk("sk_one_class", OneClassSVM(gamma=.3), None)
sk("sk_neighbours", KNeighborsClassifier(3), y3)
sk("sk_pipeline", make_pipeline(StandardScaler(), Normalizer(), LogisticRegression()), y3)
sk("sk_scaled_forest", make_pipeline(MinMaxScaler(), RandomForestRegressor(n_estimators=3, max_depth=3, random_state=0)), yr)

if ONLY in "sk_columns":
    table = [["red", "s"], ["blue", "m"], ["red", "l"], ["green", "s"]] * 5
    numbers = f32(20, 2)
    numbers[3, 1] = NAN
    full = np.empty((20, 4), dtype=object)
    full[:, :2], full[:, 2:] = table, numbers
    import pandas
    frame = pandas.DataFrame({"a": full[:, 0], "b": full[:, 1], "c": numbers[:, 0], "d": numbers[:, 1]})
    model = make_pipeline(ColumnTransformer([("words", OneHotEncoder(handle_unknown="ignore"), ["a"]), ("order", OrdinalEncoder(), ["b"]),
                                             ("numbers", make_pipeline(SimpleImputer(), StandardScaler()), ["c", "d"])]), LogisticRegression())
    model.fit(frame, (numbers[:, 0] > 0).astype(int))
    proto = to_onnx(model, initial_types=[("a", StringTensorType([None, 1])), ("b", StringTensorType([None, 1])), ("c", FloatTensorType([None, 1])),
                                          ("d", FloatTensorType([None, 1]))], target_opset={"": 15, "ai.onnx.ml": 3})
    pick = [0, 1, 2, 3, 7]
    words2 = np.array([["red"], ["violet"], ["blue"], ["green"], ["red"]], dtype=object)
    case("sk_columns", proto, [words2, full[pick, 1:2], numbers[pick, 0:1], numbers[pick, 1:2]])


def boosted(name, model, y, convert, x=test):
    if ONLY in name:
        model.fit(X, y)
        kwargs = {"zipmap": False} if convert is convert_lightgbm else {}
        case(name, convert(model, initial_types=[("x", OtherFloat([None, 4]))], target_opset=15, **kwargs), [x])


quiet = dict(verbose=-1, n_jobs=1, num_leaves=6, min_child_samples=5)
boosted("lightgbm_2", lightgbm.LGBMClassifier(n_estimators=5, **quiet), y2, convert_lightgbm)
boosted("lightgbm_3", lightgbm.LGBMClassifier(n_estimators=4, **quiet), y3, convert_lightgbm)
boosted("lightgbm_regressor", lightgbm.LGBMRegressor(n_estimators=6, **quiet), yr, convert_lightgbm)
boosted("xgboost_2", xgboost.XGBClassifier(n_estimators=5, max_depth=3), y2, convert_xgboost, finite)
boosted("xgboost_3", xgboost.XGBClassifier(n_estimators=4, max_depth=3), y3, convert_xgboost, finite)
boosted("xgboost_regressor", xgboost.XGBRegressor(n_estimators=5, max_depth=3), yr, convert_xgboost, test)

# ---- trees by hand: every comparison, missing values, several entries at a leaf, other sums, doubles
modes = ["BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ"]
near = np.array([[0., 1], [1, 0], [1, 1], [NAN, 1], [1, NAN], [2, 2]], np.float32)
for sum_of in ("SUM", "AVERAGE", "MIN", "MAX"):
    ids, trees, feature, value, mode, yes, no, missing, entries = [], [], [], [], [], [], [], [], []
    for t, m in enumerate(modes):
        for i, (how, f, v, a, b) in enumerate([(m, 0, 1., 1, 2), (m, 1, 1., 3, 4), ("LEAF", 0, 0., 0, 0), ("LEAF", 0, 0., 0, 0), ("LEAF", 0, 0., 0, 0)]):
            trees.append(t), ids.append(i), feature.append(f), value.append(v), mode.append(how), yes.append(a), no.append(b), missing.append(t % 2)
        entries += [(t, 2, 0, 1.5 + t), (t, 2, 1, -t - 1.), (t, 3, 1, .25 * t), (t, 4, 0, -.125 - t)]
    node("ml_trees_" + sum_of.lower(), "TreeEnsembleRegressor", [near], [T.FLOAT], aggregate_function=sum_of, n_targets=2, nodes_treeids=trees,
         nodes_nodeids=ids, nodes_featureids=feature, nodes_values=value, nodes_modes=mode, nodes_truenodeids=yes, nodes_falsenodeids=no,
         nodes_missing_value_tracks_true=missing, target_treeids=[e[0] for e in entries], target_nodeids=[e[1] for e in entries],
         target_ids=[e[2] for e in entries], target_weights=[e[3] for e in entries], base_values=[.5, -1.])
wide = np.array([[1 + 1e-12], [1 - 1e-12], [1.]])
node("ml_trees_double", "TreeEnsembleRegressor", [wide], [T.FLOAT], n_targets=1, nodes_treeids=[0] * 3, nodes_nodeids=[0, 1, 2], nodes_featureids=[0] * 3,
     nodes_modes=["BRANCH_LT", "LEAF", "LEAF"], nodes_truenodeids=[1, 0, 0], nodes_falsenodeids=[2, 0, 0],
     nodes_values_as_tensor=helper.make_tensor("v", T.DOUBLE, [3], [1., 0, 0]), target_treeids=[0, 0], target_nodeids=[1, 2], target_ids=[0, 0],
     target_weights_as_tensor=helper.make_tensor("w", T.DOUBLE, [2], [2., 3.]))
