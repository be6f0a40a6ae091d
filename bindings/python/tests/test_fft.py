"""Fourier transforms against the sums that define them, their inverses, and gradients against differences."""

import cmath
import random
import threading
import unittest

import trt

# Powers of 2, 3, 5; odd radices; primes that go through Bluestein's convolution; products of these.
SIZES = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 15, 16, 17, 21, 25, 27, 29, 30, 31, 32, 33, 37, 49, 60, 64, 74, 77, 97, 101, 128, 210, 251, 256, 360, 961, 1000, 1021, 1024)


def complex_numbers(n, seed=0):
    r = random.Random(seed)
    return [complex(r.uniform(-1, 1), r.uniform(-1, 1)) for _ in range(n)]


def matrix(n, sign):
    """exp(sign 2 pi i j k / n)."""
    roots = [cmath.exp(sign * 2j * cmath.pi * k / n) for k in range(n)]
    return trt.tensor([[roots[j * k % n] for j in range(n)] for k in range(n)], dtype=trt.complex128)


def distance(a, b):
    """The largest difference over the largest element."""
    a, b = (t.to(trt.complex128) for t in (a, b))
    assert a.shape == b.shape, (a.shape, b.shape)
    return ((a - b).abs().amax() / b.abs().amax().clamp_min(1e-300)).item() if a.numel() else 0.0


class Fourier(unittest.TestCase):
    def test_sums(self):
        for n in SIZES:
            lines = 3 if n < 300 else 1
            x = trt.tensor(complex_numbers(n * lines, n), dtype=trt.complex128).reshape(lines, n)
            expected = x @ matrix(n, -1)
            for dtype, bound in ((trt.complex128, 2e-14), (trt.complex64, 3e-6)):
                self.assertLess(distance(trt.fft.fft(x.to(dtype)), expected), bound, n)
                # Along another dimension, and from strided memory.
                self.assertLess(distance(trt.fft.fft(x.to(dtype).t().contiguous(), dim=0).t(), expected), bound, n)
                self.assertLess(distance(trt.fft.fft(x.to(dtype).t().contiguous().t()), expected), bound, n)
            self.assertLess(distance(trt.fft.ifft(x) * n, x @ matrix(n, 1)), 2e-14, n)

    def test_real(self):
        for n in SIZES:
            x = trt.tensor(complex_numbers(n * 2, n), dtype=trt.complex128).real.reshape(2, n)
            whole = x.to(trt.complex128) @ matrix(n, -1)
            self.assertLess(distance(trt.fft.fft(x), whole), 2e-14, n)
            self.assertLess(distance(trt.fft.rfft(x), whole[:, :n // 2 + 1]), 2e-14, n)
            self.assertLess(distance(trt.fft.rfft(x.float()), whole[:, :n // 2 + 1]), 3e-6, n)
            self.assertLess(distance(trt.fft.irfft(trt.fft.rfft(x), n), x), 2e-14, n)
            self.assertLess(distance(trt.fft.hfft(trt.fft.ihfft(x), n), x), 2e-14, n)
            self.assertLess(distance(trt.fft.ihfft(x), trt.fft.ifft(x)[:, :n // 2 + 1]), 2e-14, n)
            self.assertLess(distance(trt.fft.rfft(x.t().contiguous(), dim=0).t(), whole[:, :n // 2 + 1]), 2e-14, n)

    def test_unread_parts(self):
        # The imaginary parts of elements that are their own conjugates do not count.
        half = trt.tensor([1 + 5j, 2 - 1j, 3 + 7j], dtype=trt.complex128)
        self.assertLess(distance(trt.fft.irfft(half, 4), trt.fft.irfft(trt.tensor([1, 2 - 1j, 3 + 0j], dtype=trt.complex128), 4)), 1e-15)

    def test_long(self):
        # One line that spans many passes: a wave has one frequency.
        for n in (1 << 18, 3**9 * 5, 1000003):
            k = trt.arange(n, dtype=trt.float64)
            spectrum = trt.fft.rfft(trt.cos(k * (2 * trt.pi * 7 / n))) / n
            self.assertAlmostEqual(spectrum[7].abs().item(), 0.5, 9)
            spectrum[7] = 0
            self.assertLess(spectrum.abs().amax().item(), 1e-9)

    def test_sizes_and_norms(self):
        x = trt.tensor(complex_numbers(24), dtype=trt.complex128).reshape(4, 6)
        for n in (3, 6, 9):
            wide = trt.zeros(4, n, dtype=trt.complex128)
            wide[:, :min(n, 6)] = x[:, :min(n, 6)]
            self.assertLess(distance(trt.fft.fft(x, n), wide @ matrix(n, -1)), 1e-14)
            self.assertLess(distance(trt.fft.fft(x, n, norm="ortho"), wide @ matrix(n, -1) / n**0.5), 1e-14)
            self.assertLess(distance(trt.fft.fft(x, n, norm="forward"), wide @ matrix(n, -1) / n), 1e-14)
            self.assertLess(distance(trt.fft.ifft(x, n, norm="forward"), wide @ matrix(n, 1)), 1e-14)
        both = matrix(4, -1) @ x @ matrix(6, -1)
        self.assertLess(distance(trt.fft.fft2(x), both), 1e-14)
        self.assertLess(distance(trt.fft.fftn(x), both), 1e-14)
        self.assertLess(distance(trt.fft.fftn(x, dim=(0,)), matrix(4, -1) @ x), 1e-14)
        self.assertLess(distance(trt.fft.ifftn(both), x), 1e-14)
        self.assertLess(distance(trt.fft.fftn(x, s=(4, -1)), both), 1e-14)
        self.assertLess(distance(trt.fft.rfft2(x.real), trt.fft.fft2(x.real)[:, :4]), 1e-14)
        self.assertLess(distance(trt.fft.irfftn(trt.fft.rfftn(x.real), s=x.shape), x.real), 1e-14)
        self.assertLess(distance(trt.fft.hfftn(trt.fft.ihfftn(x.real), s=x.shape), x.real), 1e-14)
        self.assertEqual(trt.fft.fft(trt.arange(4)).dtype, trt.complex64)
        out = trt.empty(0, dtype=trt.complex128)
        self.assertIs(trt.fft.fft(x, out=out), out)
        self.assertLess(distance(out, trt.fft.fft(x)), 1e-15)

    def test_frequencies(self):
        self.assertEqual(trt.fft.fftfreq(5, 0.5, dtype=trt.float64).tolist(), [0, 0.4, 0.8, -0.8, -0.4])
        self.assertEqual(trt.fft.fftfreq(4).tolist(), [0, 0.25, -0.5, -0.25])
        self.assertEqual(trt.fft.rfftfreq(5, 2.0, dtype=trt.float64).tolist(), [0, 0.1, 0.2])
        self.assertEqual(trt.fft.fftshift(trt.arange(5)).tolist(), [3, 4, 0, 1, 2])
        x = trt.arange(15).reshape(3, 5)
        self.assertEqual(trt.fft.ifftshift(trt.fft.fftshift(x)).tolist(), x.tolist())
        self.assertEqual(trt.fft.fftshift(x, dim=1)[0].tolist(), [3, 4, 0, 1, 2])

    def test_windows(self):
        x = trt.tensor([v.real for v in complex_numbers(50)], dtype=trt.float64)
        window = trt.tensor([0.1, 0.5, 1.0, 0.5, 0.1, 0.3], dtype=trt.float64)
        spectra = trt.stft(x, 8, hop_length=2, win_length=6, window=window, return_complex=True)
        self.assertEqual(list(spectra.shape), [5, 26])
        padded = trt.nn.functional.pad(x.reshape(1, 1, -1), (4, 4), mode="reflect").reshape(-1)
        piece = padded[6:14].clone()
        piece *= trt.nn.functional.pad(window, (1, 1))
        self.assertLess(distance(spectra[:, 3], trt.fft.rfft(piece)), 1e-14)
        self.assertLess(distance(trt.istft(spectra, 8, hop_length=2, win_length=6, window=window, length=50), x), 1e-13)
        pairs = trt.stft(x, 8, return_complex=False)
        self.assertEqual(list(pairs.shape), [5, 26, 2])
        z = trt.stft(x.to(trt.complex128), 8, return_complex=True, onesided=False)
        self.assertLess(distance(trt.istft(z, 8, return_complex=True, onesided=False), x), 1e-13)

    def test_gradients(self):
        real = trt.tensor([v.real for v in complex_numbers(30, 4)], dtype=trt.float64).reshape(5, 6).requires_grad_()
        z = trt.tensor(complex_numbers(20, 5), dtype=trt.complex128).reshape(4, 5)
        weights = trt.tensor(complex_numbers(200, 6), dtype=trt.complex128)

        def parts(t):
            t = t.reshape(-1)
            return trt.view_as_real(t * weights[:t.numel()]) if t.is_complex() else t * weights[:t.numel()].real

        for f in (trt.fft.fft, trt.fft.rfft, trt.fft.ihfft, trt.fft.rfft2, trt.fft.ihfftn, lambda t: trt.fft.rfft(t, 9), lambda t: trt.fft.fft(t, 4, dim=0), trt.fft.irfft, trt.fft.hfft,
                  lambda t: trt.stft(t[0], 3, hop_length=1, return_complex=True)):
            self.assertTrue(trt.autograd.gradcheck(lambda t: parts(f(t)), (real,)))
        pairs = trt.view_as_real(z).clone().requires_grad_()
        for f in (trt.fft.fft, trt.fft.ifft, trt.fft.fft2, trt.fft.irfft, lambda t: trt.fft.irfft(t, 7), trt.fft.hfft, trt.fft.irfftn, trt.fft.hfftn, lambda t: trt.fft.irfft2(t, s=(4, 5)),
                  lambda t: trt.istft(t, 6, hop_length=2)):
            self.assertTrue(trt.autograd.gradcheck(lambda t: parts(f(trt.view_as_complex(t))), (pairs,)))

    def test_tables_are_kept(self):
        """More lengths than are kept, by several threads at once, and after the memory was given back: always the same numbers."""
        lengths = [n for n in range(1, 200) if n % 3 or n > 150] + [4096, 1 << 17, 1021 * 16]
        calls = [(f, n) for n in lengths for f in (trt.fft.fft, trt.fft.rfft, trt.fft.ifft)]
        inputs = {n: trt.tensor([((i * 7919) % 1000) / 500 - 1 for i in range(n)]) for n in lengths}
        first = {c: c[0](inputs[c[1]]) for c in calls}
        found = []

        def again(seed):
            order = calls[:]
            random.Random(seed).shuffle(order)
            for i, c in enumerate(order):
                if not trt.equal(trt.view_as_real(c[0](inputs[c[1]])), trt.view_as_real(first[c])):
                    found.append(c)
                if i % 150 == 149:
                    trt.memory.empty_cache()

        threads = [threading.Thread(target=again, args=(seed,)) for seed in range(3)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(found, [])

    def test_errors(self):
        for call in (lambda: trt.fft.rfft(trt.zeros(3, dtype=trt.complex64)), lambda: trt.fft.fft(trt.zeros(3), norm="half"), lambda: trt.fft.fft(trt.zeros(3), n=0),
                     lambda: trt.fft.fftn(trt.zeros(3, 3), dim=(0, 0)), lambda: trt.fft.fft(trt.zeros(3, dtype=trt.float16)), lambda: trt.fft.fft(trt.zeros(0)),
                     lambda: trt.fft.irfft(trt.zeros(1)), lambda: trt.fft.fft(trt.tensor(1.0)), lambda: trt.stft(trt.zeros(9), 12, center=False),
                     lambda: trt.istft(trt.zeros(5, 3, dtype=trt.complex64), 8, window=trt.zeros(8))):
            with self.assertRaises(trt.Error):
                call()


if __name__ == "__main__":
    unittest.main()
