package native

import "fmt"

// Rounding is a few instructions an element and parts no lanes: f16 by the
// conversion that gfx942 has, bf16 by arithmetic in which a NaN is selected. The
// limits are what clang-19 makes and a tenth more; by integers, with a branch for
// each case, f16 took four times as many.
func init() {
	vector := map[string]int{
		"rms_bf16_wave": 690, "rms_bf16_block": 1120, "rms_bf16_large": 1120, "rms_f16_wave": 530, "rms_f16_block": 850, "rms_f16_large": 850,
		"layer_bf16_wave": 830, "layer_bf16_block": 1360, "layer_bf16_large": 1360, "layer_f16_wave": 700, "layer_f16_block": 1140, "layer_f16_large": 1140,
	}
	parted := map[string]int{"rms_wave": 14, "rms_block": 32, "rms_large": 32, "layer_wave": 22, "layer_block": 46, "layer_large": 46}
	convert := map[string][]string{"f16": {`v_cvt_f32_f16`, `v_cvt_f16_f32`}, "bf16": nil}
	for of, want := range convert {
		for _, kind := range []string{"rms", "layer"} {
			for _, way := range []string{"wave", "block", "large"} {
				forbid := []string{flatAccess, `scratch_`, `global_atomic`, `v_fma_mix(lo|hi)_f16`}
				isaRows[fmt.Sprintf("zb_%snorm_%s_1_%s", kind, of, way)] = isaRow{
					want: append(want, `global_load_dwordx4`, `global_store_dwordx4`), forbid: forbid,
					maxVector: vector[kind+"_"+of+"_"+way], maxParted: parted[kind+"_"+way],
				}
				// element by element: one question for each that a thread holds
				isaRows[fmt.Sprintf("zb_%snorm_%s_0_%s", kind, of, way)] = isaRow{want: want, forbid: forbid, maxVector: 750, maxParted: 56}
			}
		}
		for _, step := range []string{"add", "stats", "apply", "affine"} {
			for wide := range 2 {
				isaRows[fmt.Sprintf("zb_step_%s_%s_%d", step, of, wide)] = isaRow{forbid: []string{flatAccess, `scratch_`}, maxVector: 150, maxParted: 4}
			}
		}
	}
}
