"""Conditions that depend on inputs, with ONNX Runtime's outputs: tests/golden/onnx/control_*.onnx and .pb, as make_onnx.py writes them. Those that
can be are also compiled: for zeros, while the inputs are others.

    python make_onnx_control.py

Needs onnx and onnxruntime.
"""
import os

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto as T
from onnx import helper, numpy_helper

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "onnx")
n, info = helper.make_node, helper.make_tensor_value_info


def const(name, value):
    return numpy_helper.from_array(np.asarray(value), name)


def save(name, nodes, inputs, outputs, weights, values):
    graph = helper.make_graph(nodes, "g", inputs, outputs, weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    got = session.run(None, {i.name: v for i, v in zip(session.get_inputs(), values)})
    data = onnx.SequenceProto(elem_type=3)
    for value in list(values) + got:
        data.sequence_values.append(onnx.SequenceProto(elem_type=1, tensor_values=[numpy_helper.from_array(value)]))
    for suffix, proto in ((".onnx", model), (".pb", data)):
        with open(os.path.join(HERE, name + suffix), "wb") as f:
            f.write(proto.SerializeToString())
    print(name, [v.ravel()[:4] for v in got])


def branches(name, x):
    """y = sum(x) > 1 ? x w : x - 1, and a second result; w is captured, and a branch asks for a shape."""
    then = helper.make_graph([n("Mul", ["x", "w"], ["a"]), n("Shape", ["x"], ["s"]), n("Reshape", ["a", "s"], ["t"]), n("Neg", ["t"], ["u"])], "then",
                             [], [info("t", T.FLOAT, None), info("u", T.FLOAT, None)])
    other = helper.make_graph([n("Sub", ["x", "one"], ["e"]), n("Identity", ["x"], ["f"])], "else", [], [info("e", T.FLOAT, None), info("f", T.FLOAT, None)])
    nodes = [n("ReduceSum", ["x"], ["sum"], keepdims=0), n("Greater", ["sum", "one"], ["c"]), n("If", ["c"], ["y", "z"], then_branch=then, else_branch=other),
             n("Add", ["y", "z"], ["sum2"])]
    save(name, nodes, [info("x", T.FLOAT, [2, 3])], [info("y", T.FLOAT, None), info("sum2", T.FLOAT, None)],
         [const("w", np.float32([[3, 4, 5]])), const("one", np.float32(1))], [x])


def while_loop(name, x, first=None):
    """while sum(s) < 100, 30 rounds at most: s = s 1.5 + x + round; first: a condition before the first round, that depends on x too."""
    body = helper.make_graph(
        [n("Mul", ["s", "rate"], ["a"]), n("Add", ["a", "x"], ["b"]), n("Cast", ["i"], ["fi"], to=T.FLOAT), n("Add", ["b", "fi"], ["s2"]),
         n("ReduceSum", ["s2"], ["sum"], keepdims=0), n("Less", ["sum", "limit"], ["go2"])], "body",
        [info("i", T.INT64, []), info("go", T.BOOL, []), info("s", T.FLOAT, [3])], [info("go2", T.BOOL, []), info("s2", T.FLOAT, [3])])
    nodes = [n("ReduceSum", ["x"], ["total"], keepdims=0), n("Greater", ["total", "zero"], ["positive"])] if first else []
    nodes += [n("Loop", ["most", "positive" if first else "", "start"], ["y"], body=body)]
    save(name, nodes, [info("x", T.FLOAT, [3])], [info("y", T.FLOAT, [3])],
         [const("most", np.int64(30)), const("rate", np.float32(1.5)), const("limit", np.float32(100)), const("start", np.float32([1, 2, 3])), const("zero", np.float32(0))], [x])


def captured_by_a_map(name, shape):
    """A body that is mapped over a sequence of constants uses an input, of which a shape is made: that depends on the input, and can't be compiled."""
    body = helper.make_graph([n("Add", ["item", "x"], ["r"])], "body", [info("item", T.INT64, None)], [info("r", T.INT64, None)])
    nodes = [n("SequenceConstruct", ["base"], ["seq"]), n("SequenceMap", ["seq"], ["moved"], body=body), n("SequenceAt", ["moved", "at"], ["to"]),
             n("Reshape", ["data", "to"], ["y"])]
    save(name, nodes, [info("x", T.INT64, [2])], [info("y", T.FLOAT, None)],
         [const("base", np.int64([-1, -1])), const("at", np.int64(0)), const("data", np.arange(12, dtype=np.float32))], [np.int64(shape) + 1])


branches("control_if_then", np.float32([[1, 2, 3], [4, 5, 6]]))
branches("control_if_else", np.float32([[-1, -2, -3], [4, 1, 1]]))
while_loop("control_while", np.float32([3, 4, 5]))
while_loop("control_while_most", np.float32([-9, -9, -9]))
while_loop("control_while_first", np.float32([3, 4, 5]), True)
while_loop("control_while_none", np.float32([-3, 0, 1]), True)
captured_by_a_map("control_map_captures", [3, 4])
