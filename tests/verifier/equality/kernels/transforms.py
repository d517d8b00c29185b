"""Transforms of a few points, each with a table of its coefficients as reference."""

import argus as ag
from argus import f32


@ag.kernel
def fourier_of_four(
    Re: f32["B N"], Im: f32["B N"], Yr: f32["B N"], Yi: f32["B N"], *, BB: int = 32
):
    B, N = Re.shape
    ag.require(N == 4, "four points")
    i = ag.block(ag.cdiv(B, BB))
    r0, r1, r2, r3 = ag.split(ag.load(Re[i * BB :, 0:], (BB, 4)).rename("B K"), "K", 4)
    m0, m1, m2, m3 = ag.split(ag.load(Im[i * BB :, 0:], (BB, 4)).rename("B K"), "K", 4)
    ar, ai = r0 + r2, m0 + m2
    br, bi = r0 - r2, m0 - m2
    cr, ci = r1 + r3, m1 + m3
    dr, di = r1 - r3, m1 - m3
    yr = ag.join(ag.join(ar + cr, br + di, "K"), ag.join(ar - cr, br - di, "K"), "K")
    yi = ag.join(ag.join(ai + ci, bi - dr, "K"), ag.join(ai - ci, bi + dr, "K"), "K")
    Yr[i * BB :, 0:] = yr.rename("B N")
    Yi[i * BB :, 0:] = yi.rename("B N")


@ag.reference
def fourier_of_four_reference(Re, Im):
    n = np.arange(4)
    angle = -2 * np.pi * n[:, None] * n / 4
    c, s = np.cos(angle), np.sin(angle)
    return Re @ c - Im @ s, Re @ s + Im @ c
