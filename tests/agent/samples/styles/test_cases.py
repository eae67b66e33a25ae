# SPDX-License-Identifier: Apache-2.0
"""Style: unittest.TestCase with setUp, subTest, assertRaises and friends."""
import unittest

from cases import Matrix


class MatrixTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.rows = [[1, 2], [3, 4]]

    def setUp(self):
        self.matrix = Matrix(self.rows)
        self.addCleanup(setattr, self, "matrix", None)

    def test_transpose(self):
        self.assertEqual(self.matrix.transpose().to_list(), [[1, 3], [2, 4]])
        self.assertNotEqual(self.matrix.to_list(), [])

    def test_trace(self):
        self.assertEqual(self.matrix.trace(), 5)
        self.assertTrue(self.matrix.trace() > 4)
        self.assertAlmostEqual(self.matrix.trace() / 3, 1.6667, places=3)

    def test_ragged(self):
        with self.assertRaises(ValueError) as caught:
            Matrix([[1], [2, 3]])
        self.assertIn("ragged", str(caught.exception))
        self.assertRaisesRegex(ValueError, "ragged", Matrix, [[1], []])

    def test_sizes(self):
        for size in range(1, 4):
            with self.subTest(size=size):
                matrix = Matrix([[0] * size for _ in range(size)])
                self.assertEqual(len(matrix.to_list()), size)

    @unittest.skip("needs a larger machine")
    def test_skipped(self):
        self.fail("must not run")


if __name__ == "__main__":
    unittest.main()
