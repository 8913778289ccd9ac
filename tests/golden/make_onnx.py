"""Small ONNX models with inputs and ONNX Runtime's outputs: tests/golden/onnx/NAME.onnx and NAME.pb, a SequenceProto that holds a sequence for each
input, then for each output: of one value, or what the sequence itself is.

    python make_onnx.py [PART OF A NAME]

Needs onnx, onnxruntime, scikit-learn, skl2onnx, lightgbm, xgboost and onnxmltools.
"""
import os
import sys
import warnings

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto as T
from onnx import helper, numpy_helper

warnings.filterwarnings("ignore")
HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "onnx")
ONLY = sys.argv[1] if len(sys.argv) > 1 else ""
rng = np.random.default_rng(5)


def tensor(a):
    a = np.asarray(a)
    if a.dtype.kind in "OU":
        return helper.make_tensor("", T.STRING, a.shape, [s.encode() if isinstance(s, str) else s for s in a.ravel()])
    return numpy_helper.from_array(a)


def add_map(seq, value):
    m = seq.map_values.add()
    keys = list(value)
    if isinstance(keys[0], str):
        m.key_type = T.STRING
        m.string_keys.extend(k.encode() for k in keys)
    else:
        m.key_type = T.INT64
        m.keys.extend(keys)
    m.values.elem_type = 1
    values = np.array(list(value.values()))
    m.values.tensor_values.append(numpy_helper.from_array(values.astype(np.float32) if values.dtype.kind == "f" else values))


def wrapped(value):
    seq = onnx.SequenceProto()
    if isinstance(value, dict):
        seq.elem_type = 4
        add_map(seq, value)
    elif isinstance(value, list):
        seq.elem_type = 4
        for v in value:
            add_map(seq, v)
    else:
        seq.elem_type = 1
        seq.tensor_values.append(tensor(value))
    return seq


def case(name, model, inputs, outputs=None):
    """outputs: where ONNX Runtime's are not to be trusted."""
    if ONLY not in name:
        return
    if isinstance(model, bytes):
        model = onnx.load_model_from_string(model)
    del model.metadata_props[:]
    model.producer_name, model.producer_version, model.doc_string = "", "", ""
    options = ort.SessionOptions()
    level = ort.GraphOptimizationLevel
    options.graph_optimization_level = level.ORT_ENABLE_ALL if "dynamic_lstm" in name else level.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1  # with more, DynamicQuantizeLSTM rounds parts of a batch by ranges of their own
    options.add_session_config_entry("session.x64quantprecision", "1")  # else sums of bytes saturate without VNNI; only with ENABLE_ALL
    session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    names = [i.name for i in session.get_inputs()]
    assert len(names) == len(inputs), (name, names)
    got = outputs or session.run(None, dict(zip(names, inputs)))
    data = onnx.SequenceProto(elem_type=3)
    for value in list(inputs) + list(got):
        data.sequence_values.append(wrapped(value))
    for suffix, proto in ((".onnx", model), (".pb", data)):
        with open(os.path.join(HERE, name + suffix), "wb") as f:
            f.write(proto.SerializeToString())
    size = len(model.SerializeToString()) + len(data.SerializeToString())
    assert size < 40000, (name, size)
    print(f"{name}: {size} bytes, {[np.asarray(g).dtype.name + str(np.asarray(g).shape) if not isinstance(g, list) else 'maps' for g in got]}")


TYPES = {"float32": T.FLOAT, "float64": T.DOUBLE, "int64": T.INT64, "int32": T.INT32, "uint8": T.UINT8, "int8": T.INT8, "bool": T.BOOL,
         "float16": T.FLOAT16}


def elem(a):
    a = np.asarray(a)
    return T.STRING if a.dtype.kind in "OU" else TYPES[a.dtype.name]


def info(name, value, static=False):
    if isinstance(value, dict):
        k, v = next(iter(value.items()))
        values = helper.make_tensor_type_proto(elem(np.array([v])) if not isinstance(v, float) else T.FLOAT, [])
        return helper.make_value_info(name, helper.make_map_type_proto(T.STRING if isinstance(k, str) else T.INT64, values))
    if value is None:
        return helper.make_empty_tensor_value_info(name)
    return helper.make_tensor_value_info(name, elem(value), np.shape(value) if static else [None] * np.ndim(value))


def node(name, op, inputs, outs, version=3, domain="ai.onnx.ml", weights=(), base=15, static=False, **attrs):
    """One node. inputs: arrays; those whose place is in `weights` are initializers, None is left out. outs: element types."""
    names = [f"x{i}" if v is not None else "" for i, v in enumerate(inputs)]
    results = [f"y{i}" if t else "" for i, t in enumerate(outs)]
    attrs = {k: v for k, v in attrs.items() if v is not None}
    n = helper.make_node(op, names, results, domain=domain, **attrs)
    given = [i for i, v in enumerate(inputs) if v is not None and i not in weights]
    graph = helper.make_graph(
        [n], "g", [info(names[i], inputs[i], static) for i in given],
        [t if isinstance(t, onnx.ValueInfoProto) else helper.make_tensor_value_info(f"y{i}", t, None) for i, t in enumerate(outs) if t],
        [numpy_helper.from_array(inputs[i], names[i]) for i in weights if inputs[i] is not None])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", base)] + ([helper.make_opsetid(domain, version)] if domain else []), ir_version=8)
    case(name, model, [inputs[i] for i in given])


def f32(*shape):
    return rng.standard_normal(shape).astype(np.float32)
