"""Memory shared with others: NumPy, buffers, DLPack, PyTorch; files and pickles."""

import array
import copy
import gc
import io
import os
import pickle
import sys
import tempfile
import unittest

import trt

try:
    import numpy as np
except ImportError:
    np = None
try:
    import torch
except ImportError:
    torch = None


@unittest.skipIf(np is None, "NumPy is not installed")
class NumPy(unittest.TestCase):
    DTYPES = ("uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64", "bool")

    def test_both_ways_without_copying(self):
        for name in self.DTYPES:
            a = np.ones((2, 3), name)
            x = trt.from_numpy(a)
            self.assertEqual((x.dtype, x.shape), (getattr(trt, name), (2, 3)))
            x[0, 0] = 0
            self.assertEqual(a[0, 0], 0, name)
            b = x.numpy()
            self.assertEqual((b.dtype, b.shape), (a.dtype, a.shape))
            b[1, 1] = 0
            self.assertEqual(x[1, 1].item(), 0, name)
            self.assertEqual(np.asarray(x).__array_interface__["data"], a.__array_interface__["data"])

    def test_lifetimes(self):
        a = np.arange(1000.0)
        x = trt.from_numpy(a)[5:]
        before = sys.getrefcount(a)
        del a
        gc.collect()
        self.assertEqual(x[0].item(), 5)
        b = x.numpy()
        del x
        gc.collect()
        self.assertEqual(b[1], 6)
        self.assertGreater(before, 2)
        # The tensor gets other memory, the array keeps what it sees.
        out = trt.zeros(3)
        b = out.numpy()
        trt.add(trt.ones(10), 1, out=out)
        self.assertEqual((out.shape, b.tolist()), ((10,), [0, 0, 0]))

    def test_the_array_is_released(self):
        class Watched(np.ndarray):
            pass

        import weakref

        a = np.ones(4).view(Watched)
        ref = weakref.ref(a)
        x = trt.from_numpy(a)
        del a
        self.assertIsNotNone(ref())
        del x
        gc.collect()
        self.assertIsNone(ref())

    def test_strides(self):
        a = np.arange(24).reshape(4, 6)
        for view in (a.T, a[::2, 1::3], a[:, ::-1].copy()[:, 1:], np.broadcast_to(np.arange(3), (2, 3))):
            self.assertEqual(trt.from_numpy(view).tolist(), view.tolist())
            self.assertEqual(trt.tensor(view).tolist(), view.tolist())
            self.assertEqual(trt.from_numpy(view).numpy().strides, view.strides)
        self.assertEqual(trt.tensor(a[::-1]).tolist(), a[::-1].tolist())
        with self.assertRaisesRegex(ValueError, "negative"):
            trt.from_numpy(a[::-1])
        self.assertEqual(trt.as_tensor(a[::-1]).tolist(), a[::-1].tolist())
        x = trt.arange(6).view(2, 3).T
        self.assertEqual(x.numpy().tolist(), x.tolist())

    def test_special_shapes(self):
        for a in (np.array(3.0), np.zeros((0, 3)), np.zeros((2, 0))):
            self.assertEqual(trt.from_numpy(a).shape, a.shape)
            self.assertEqual(trt.from_numpy(a).numpy().shape, a.shape)
            self.assertEqual(trt.tensor(a).shape, a.shape)

    def test_what_cannot_be_shared(self):
        for a in (np.zeros(2, "clongdouble"), np.zeros(2, "uint32"), np.array(["a"]), np.zeros(2, ">f4"), np.array([object()])):
            with self.assertRaises(TypeError, msg=a.dtype):
                trt.from_numpy(a)
            with self.assertRaises(TypeError, msg=a.dtype):
                trt.tensor(a)
        with self.assertRaises(TypeError):
            trt.from_numpy([1, 2])
        with self.assertRaisesRegex(RuntimeError, "requires grad"):
            trt.ones(2, requires_grad=True).numpy()
        with self.assertRaisesRegex(RuntimeError, "requires grad"):
            np.asarray(trt.ones(2, requires_grad=True))
        with self.assertRaises(TypeError):
            trt.ones(2, dtype=trt.bfloat16).numpy()
        self.assertEqual(trt.ones(2, dtype=trt.bfloat16, requires_grad=True).numpy(force=True).dtype, np.float32)

    def test_lists_keep_the_dtype_of_their_elements(self):
        for dtype in ("float64", "float32", "int32", "int8", "uint8", "bool"):
            for data in ([np.ones(2, dtype), np.zeros(2, dtype)], [np.dtype(dtype).type(1)], (np.ones((), dtype),)):
                for make in (trt.tensor, trt.as_tensor):
                    self.assertEqual((make(data).dtype.name, make(data).tolist()), (dtype, np.asarray(data).tolist()))
        self.assertEqual(trt.tensor([np.int8(1), np.float64(2)]).dtype, trt.float64)
        self.assertEqual(trt.tensor([np.float64(1)], dtype=trt.int64).dtype, trt.int64)
        with self.assertRaises(ValueError):
            trt.tensor([np.ones(2), np.ones(3)])

    def test_scalars_and_lists_of_arrays(self):
        self.assertEqual(trt.tensor(np.float64(1.5)).dtype, trt.float64)
        self.assertEqual(trt.tensor(np.float32(1.5)).dtype, trt.float32)
        self.assertEqual(trt.tensor([np.int64(1), np.int64(2)]).tolist(), [1, 2])
        self.assertEqual(trt.tensor([np.array([1, 2]), np.array([3, 4])]).tolist(), [[1, 2], [3, 4]])
        x = trt.ones(2)
        self.assertEqual((x * np.float32(2)).tolist(), [2, 2])
        self.assertEqual((x + np.bool_(True)).dtype, trt.float32)
        self.assertEqual((x + np.int64(1)).dtype, trt.float32)
        self.assertEqual(x.sum(np.int64(0)).item(), 2)
        self.assertEqual(trt.zeros(np.int64(2), np.int32(3)).shape, (2, 3))

    def test_arithmetic_with_arrays(self):
        x, a = trt.ones(2), np.array([1.0, 2.0])
        for y in (x + a, x * a, a + x, a * x):
            self.assertIsInstance(y, trt.Tensor)
            self.assertEqual(y.dtype, trt.float64)
        self.assertEqual((a - x).tolist(), [0, 1])
        self.assertEqual((x == a).tolist(), [True, False])
        self.assertIsInstance(np.sqrt(x), trt.Tensor)
        self.assertEqual(np.add.reduce(x.numpy()), 2)

    def test_reading_only(self):
        a = np.ones(3)
        a.flags.writeable = False
        for make in (trt.from_numpy, trt.as_tensor, lambda x: trt.frombuffer(x, dtype=trt.float64)):
            with self.assertWarnsRegex(UserWarning, "not writable"):
                self.assertEqual(make(a).tolist(), [1, 1, 1])
        with self.assertWarnsRegex(UserWarning, "not writable"):
            trt.frombuffer(b"1234", dtype=trt.uint8)


class Buffers(unittest.TestCase):
    def test_memoryview(self):
        x = trt.arange(6, dtype=trt.int32).view(2, 3)
        m = memoryview(x)
        self.assertEqual((m.shape, m.strides, m.format, m.nbytes, m.tolist()), ((2, 3), (12, 4), "i", 24, x.tolist()))
        m[1, 2] = 50
        self.assertEqual(x[1, 2].item(), 50)
        self.assertEqual(bytes(x[0]), array.array("i", [0, 1, 2]).tobytes())
        self.assertEqual(memoryview(x.T).tolist(), x.T.tolist())
        with self.assertRaises(BufferError):
            memoryview(trt.ones(1, requires_grad=True))
        with self.assertRaises(BufferError):
            memoryview(trt.ones(1, dtype=trt.bfloat16))
        del x
        gc.collect()
        self.assertEqual(m[1, 2], 50)

    def test_frombuffer(self):
        data = bytearray(array.array("f", [1, 2, 3, 4]).tobytes())
        x = trt.frombuffer(data, dtype=trt.float32, count=2, offset=4)
        self.assertEqual(x.tolist(), [2, 3])
        x[0] = 9
        self.assertEqual(array.array("f", bytes(data))[1], 9)
        self.assertEqual(trt.frombuffer(data, dtype=trt.uint8).numel(), 16)
        with self.assertRaises(BufferError):
            data.append(1)  # the tensor holds the memory
        for bad in (dict(offset=16), dict(count=5), dict(offset=3), dict(count=0)):
            with self.assertRaises(ValueError, msg=bad):
                trt.frombuffer(data, dtype=trt.float32, **bad)
        self.assertEqual(trt.tensor(array.array("d", [1.5])).tolist(), [1.5])


class DLPack(unittest.TestCase):
    def test_round_trip(self):
        for name in ("uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64", "bool", "bfloat16"):
            x = trt.ones(2, 3, dtype=getattr(trt, name)).T
            y = trt.from_dlpack(x)
            self.assertEqual((y.dtype, y.shape, y.stride()), (x.dtype, x.shape, x.stride()))
            self.assertEqual(y.data_ptr(), x.data_ptr())
            y = trt.from_dlpack(x.__dlpack__())  # version 0
            self.assertEqual(y.data_ptr(), x.data_ptr())
        self.assertEqual(x.__dlpack_device__(), (1, 0))

    def test_lifetime(self):
        gc.collect()
        before = trt.memory.allocated()
        x = trt.ones(1000)
        capsule = x.__dlpack__()
        unused = x.__dlpack__(max_version=(1, 0))
        del x, unused
        y = trt.from_dlpack(capsule)
        with self.assertRaises(TypeError):
            trt.from_dlpack(capsule)
        self.assertEqual(y.sum().item(), 1000)
        del y, capsule
        gc.collect()
        self.assertEqual(trt.memory.allocated(), before)

    def test_errors(self):
        with self.assertRaises(BufferError):
            trt.ones(1, requires_grad=True).__dlpack__()
        with self.assertRaises(BufferError):
            trt.ones(1).__dlpack__(dl_device=(2, 0))
        with self.assertRaises(TypeError):
            trt.from_dlpack(3)
        x = trt.ones(2)
        self.assertNotEqual(trt.from_dlpack(x.__dlpack__(copy=True)).data_ptr(), x.data_ptr())

    @unittest.skipIf(np is None or not hasattr(np, "from_dlpack"), "NumPy with DLPack is not installed")
    def test_numpy(self):
        a = np.arange(6.0).reshape(2, 3)
        x = trt.from_dlpack(a)
        self.assertEqual(x.data_ptr(), a.__array_interface__["data"][0])
        b = np.from_dlpack(x)
        self.assertEqual(b.__array_interface__["data"][0], a.__array_interface__["data"][0])
        del a, b
        gc.collect()
        self.assertEqual(x.sum().item(), 15)

    @unittest.skipIf(torch is None, "PyTorch is not installed")
    def test_torch(self):
        t = torch.arange(6.0).view(2, 3).t()
        x = trt.from_dlpack(t)
        self.assertEqual((x.data_ptr(), x.stride()), (t.data_ptr(), t.stride()))
        x[0, 0] = 50
        self.assertEqual(t[0, 0].item(), 50)
        u = torch.from_dlpack(trt.ones(2, 2, dtype=trt.bfloat16))
        self.assertEqual((u.dtype, u.sum().item()), (torch.bfloat16, 4))
        del t
        gc.collect()
        self.assertEqual(x[2, 1].item(), 5)


class Files(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, "file.safetensors")

    def test_state_dicts(self):
        state = {"a": trt.ones(2, 3), "b.c": trt.arange(3), "empty": trt.zeros(0, dtype=trt.bfloat16)}
        trt.save(state, self.path, metadata={"key": "value"})
        for loaded in (trt.load(self.path), trt.load(self.path, mmap=True), trt.safetensors.load_file(self.path)):
            self.assertEqual(set(loaded), set(state))
            for k, t in state.items():
                self.assertEqual((loaded[k].dtype, loaded[k].tolist()), (t.dtype, t.tolist()))
        with trt.safetensors.safe_open(self.path) as file:
            self.assertEqual((file.metadata(), file.keys()), ({"key": "value"}, list(state)))
            with self.assertRaises(LookupError):
                file.get_tensor("nothing")
        with self.assertRaises(ValueError):
            file.keys()

    def test_structures(self):
        obj = {"epoch": 3, "name": "x", "model": {"w": trt.ones(2), 0: [trt.zeros(1), None, (1.5, True)]}, "list": []}
        for target in (self.path, io.BytesIO()):
            trt.save(obj, target)
            if not isinstance(target, str):
                target.seek(0)
            loaded = trt.load(target)
            self.assertEqual(loaded["epoch"], 3)
            self.assertEqual(loaded["model"][0][1:], [None, (1.5, True)])
            self.assertTrue(trt.equal(loaded["model"]["w"], trt.ones(2)))
            self.assertEqual(loaded["list"], [])
        trt.save(trt.ones(3), self.path)
        self.assertEqual(trt.load(self.path).tolist(), [1, 1, 1])
        for dtype in (trt.complex64, trt.complex128):
            z = trt.tensor([1 + 2j, 3], dtype=dtype)
            for obj in ({"z": z}, [z, {"n": z * 2}]):
                for target in (self.path, io.BytesIO()):
                    trt.save(obj, target)
                    if not isinstance(target, str):
                        target.seek(0)
                    loaded = trt.load(target)
                    one = loaded["z"] if isinstance(obj, dict) else loaded[0]
                    self.assertEqual((one.dtype, one.tolist()), (dtype, z.tolist()))
        trt.save(trt.ones(3), self.path)
        for bad in ({"a": object()}, {1.5: trt.ones(1)}, {"a": {1, 2}}):
            with self.assertRaises(TypeError):
                trt.save(bad, self.path)
        self.assertEqual(trt.load(self.path).tolist(), [1, 1, 1])

    def test_complex(self):
        z = trt.tensor([[1 + 2j, 3], [4j, 5]]).T
        trt.safetensors.save_file({"z": z}, self.path)
        with open(self.path, "rb") as f:
            data = f.read()
        self.assertIn(b'"C64"', data)
        for loaded in (trt.safetensors.load_file(self.path), trt.safetensors.load(data), trt.safetensors.load(trt.safetensors.save({"z": z})), trt.load(self.path, mmap=True)):
            self.assertEqual((loaded["z"].dtype, loaded["z"].tolist()), (z.dtype, z.tolist()))
        for save in (trt.safetensors.save, lambda tensors: trt.safetensors.save_file(tensors, self.path)):
            with self.assertRaisesRegex(trt.NotSupportedError, r"tensor 'a.b' is complex128\[3\], .*view_as_real"):
                save({"a.b": trt.zeros(3, dtype=trt.complex128)})

    def test_errors(self):
        with self.assertRaises(FileNotFoundError):
            trt.load(self.path)
        with self.assertRaises(OSError):
            trt.save({"a": trt.ones(1)}, "/no/such/folder/file")
        for names in ({1: trt.ones(1), "1": trt.zeros(1)}, {"a.b": trt.ones(1), "a": {"b": trt.zeros(1)}}):
            with self.assertRaisesRegex(ValueError, "two tensors would have the name"):
                trt.save(names, self.path)
        self.assertFalse(os.path.exists(self.path))
        with open(self.path, "wb") as f:
            f.write(b"x" * 100)
        with self.assertRaises(trt.DataError):
            trt.load(self.path)
        with self.assertRaises(trt.DataError):
            trt.load(io.BytesIO(b"x" * 100))
        good = trt.safetensors.save({"a": trt.ones(4)})
        for cut in (good[:4], good[:-1], good[:30]):
            with self.assertRaises((trt.DataError, ValueError)):
                trt.safetensors.load(cut)

    def test_same_bytes(self):
        state = {"a": trt.ones(2, 3), "b": trt.arange(3)}
        trt.save(state, self.path, metadata={"k": "v"})
        with open(self.path, "rb") as f:
            loaded, metadata = trt.safetensors.load_with_metadata(f.read())
        self.assertEqual((metadata, loaded["a"].tolist(), loaded["b"].tolist()), ({"k": "v"}, state["a"].tolist(), state["b"].tolist()))

    def test_pickle(self):
        x = trt.ones(2, 3, dtype=trt.bfloat16).T
        y = pickle.loads(pickle.dumps(x))
        self.assertEqual((y.dtype, y.shape, y.tolist()), (x.dtype, x.shape, x.tolist()))
        for dtype in (trt.complex64, trt.complex128):
            x = trt.tensor([[1 + 2j, 3]], dtype=dtype, requires_grad=True)
            y = pickle.loads(pickle.dumps(x))
            self.assertEqual((y.dtype, y.shape, y.tolist(), y.requires_grad), (x.dtype, x.shape, x.tolist(), True))
        p = trt.nn.Parameter(trt.ones(2))
        p.note = "kept"
        q = pickle.loads(pickle.dumps(p))
        self.assertIsInstance(q, trt.nn.Parameter)
        self.assertTrue(q.requires_grad)
        self.assertEqual(q.note, "kept")
        for obj in (trt.float32, trt.device("cpu"), trt.Size([1, 2]), trt.nn.Linear(2, 3).state_dict()):
            self.assertEqual(repr(pickle.loads(pickle.dumps(obj))), repr(obj))
        self.assertIs(pickle.loads(pickle.dumps(trt.bfloat16)), trt.bfloat16)
        self.assertIs(copy.deepcopy(trt.float32), trt.float32)
        with self.assertRaises(RuntimeError):
            pickle.dumps(p * 2)
        m = pickle.loads(pickle.dumps(trt.nn.Linear(2, 3)))
        self.assertEqual(m(trt.ones(2)).shape, (3,))


if __name__ == "__main__":
    unittest.main()
