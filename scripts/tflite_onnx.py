"""A float network of a .tflite file as ONNX, which figures of docs/compress.md were taken on: MLPerf Tiny's, of
github.com/mlcommons/tiny, benchmark/training/image_classification/trained_models/pretrainedResnet.tflite.

    python scripts/tflite_onnx.py pretrainedResnet.tflite net.onnx

Convolutions (depthwise too), sums, means over all places, linear layers, flattening and ReLU are followed, and a
softmax at the end is left out; images are [N, channels, rows, columns] of 0 to 1, and the network takes 255 times
that. Needs flatbuffers and onnx. By the schema of TensorFlow Lite (fields by their number).
"""
import sys

import numpy as np
import onnx
from flatbuffers import number_types as numbers
from flatbuffers import table
from onnx import TensorProto, helper, numpy_helper

ADD, AVERAGE, CONV, DEPTHWISE, LINEAR, RELU, FLATTEN, SOFTMAX, MEAN = 0, 1, 3, 4, 9, 19, 22, 25, 40


class Table:
    def __init__(self, data, at):
        self.table, self.data = table.Table(data, at), data

    def at(self, field):
        off = self.table.Offset(4 + 2 * field)
        return off and off + self.table.Pos

    def number(self, field, kind):
        at = self.at(field)
        return self.table.Get(kind, at) if at else 0

    def child(self, field):
        at = self.at(field)
        return Table(self.data, self.table.Indirect(at)) if at else None

    def children(self, field):
        off = self.table.Offset(4 + 2 * field)
        first = self.table.Vector(off) if off else 0
        n = self.table.VectorLen(off) if off else 0
        return [Table(self.data, self.table.Indirect(first + 4 * i)) for i in range(n)]

    def array(self, field, dtype):
        off = self.table.Offset(4 + 2 * field)
        if not off:
            return np.zeros(0, dtype)
        return np.frombuffer(self.data, dtype, self.table.VectorLen(off), self.table.Vector(off))


class Converter:
    def __init__(self, data):
        model = Table(data, int.from_bytes(data[:4], "little"))
        self.codes = [max(c.number(0, numbers.Int8Flags), c.number(3, numbers.Int32Flags)) for c in model.children(1)]
        self.graph, self.buffers = model.children(2)[0], model.children(4)
        self.tensors = self.graph.children(0)
        self.nodes, self.constants, self.names = [], [], {}

    def shape(self, tensor):
        return [int(d) for d in self.tensors[tensor].array(0, np.int32)]

    def weights(self, tensor):
        raw = self.buffers[self.tensors[tensor].number(2, numbers.Uint32Flags)].array(0, np.uint8)
        return raw.view(np.float32).reshape(self.shape(tensor))

    def constant(self, name, value):
        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(value), name))
        return name

    def node(self, op, inputs, output, **attributes):
        self.nodes.append(helper.make_node(op, inputs, [output], **attributes))
        return output

    def activate(self, name, kind):
        if kind not in (0, 1):
            raise SystemExit(f"activation {kind}")
        return self.node("Relu", [name], name + "_relu") if kind else name

    def convolution(self, name, inputs, options, depthwise):
        w = self.weights(inputs[1]).transpose(3, 0, 1, 2) if depthwise else \
            self.weights(inputs[1]).transpose(0, 3, 1, 2)
        strides = [options.number(2, numbers.Int32Flags), options.number(1, numbers.Int32Flags)]
        taken, pads = self.shape(inputs[0]), [0] * 4
        for d in range(2):
            if options.number(0, numbers.Int8Flags) == 0:  # same
                extent = taken[1 + d]
                total = max(0, (-(-extent // strides[d]) - 1) * strides[d] + w.shape[2 + d] - extent)
                pads[d], pads[2 + d] = total // 2, total - total // 2
        ins = [self.names[inputs[0]], self.constant(name + "w", w), self.constant(name + "b", self.weights(inputs[2]))]
        self.node("Conv", ins, name, strides=strides, pads=pads, group=taken[3] if depthwise else 1,
                  kernel_shape=w.shape[2:])
        return self.activate(name, options.number(4 if depthwise else 3, numbers.Int8Flags))

    def linear(self, name, inputs, options):
        taken = self.names[inputs[0]]
        if len(self.shape(inputs[0])) == 4:
            taken = self.node("Flatten", [taken], name + "f")
        ins = [taken, self.constant(name + "w", self.weights(inputs[1])),
               self.constant(name + "b", self.weights(inputs[2]))]
        return self.activate(self.node("Gemm", ins, name, transB=1), options.number(0, numbers.Int8Flags))

    def operator(self, i, op):
        code, inputs = self.codes[op.number(0, numbers.Uint32Flags)], op.array(1, np.int32)
        name, options, taken = f"t{i}", op.child(4), self.names[inputs[0]]
        if code in (CONV, DEPTHWISE):
            return self.convolution(name, inputs, options, code == DEPTHWISE)
        if code == LINEAR:
            return self.linear(name, inputs, options)
        if code == ADD:
            self.node("Add", [taken, self.names[inputs[1]]], name)
            return self.activate(name, options.number(0, numbers.Int8Flags) if options else 0)
        if code in (AVERAGE, MEAN):
            return self.node("GlobalAveragePool", [taken], name)
        if code in (FLATTEN, RELU):
            return self.node("Flatten" if code == FLATTEN else "Relu", [taken], name)
        if code == SOFTMAX:
            return taken
        raise SystemExit(f"operator {code}")

    def run(self):
        first, last = self.graph.array(1, np.int32)[0], self.graph.array(2, np.int32)[0]
        rows, columns, channels = self.shape(first)[1:4]
        self.names[first] = self.node("Mul", ["input", self.constant("k255", np.array(255, np.float32))], "in255")
        for i, op in enumerate(self.graph.children(3)):
            self.names[op.array(2, np.int32)[0]] = self.operator(i, op)
        self.node("Identity", [self.names[last]], "logits")
        kind = TensorProto.FLOAT
        graph = helper.make_graph(
            self.nodes, "net", [helper.make_tensor_value_info("input", kind, ["N", channels, rows, columns])],
            [helper.make_tensor_value_info("logits", kind, ["N", self.shape(last)[-1]])], self.constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)])
        model.ir_version = 8
        onnx.checker.check_model(model)
        return model


def main():
    if len(sys.argv) != 3:
        raise SystemExit(__doc__)
    with open(sys.argv[1], "rb") as file:
        onnx.save(Converter(bytearray(file.read())).run(), sys.argv[2])


if __name__ == "__main__":
    main()
