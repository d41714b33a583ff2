; zb_product_128 of gfx942 by clang-19 when a stage's operands were read from LDS before
; they were multiplied: a round of its loop, in the order in which it ran
	v_add_u32_e32 v18, -4, v34
	s_lshl_b32 s8, s39, 4
	v_cmp_gt_u32_e32 vcc, s37, v18
	s_and_b32 s40, s8, 0x4000
	s_and_b64 s[8:9], s[0:1], vcc
	s_waitcnt vmcnt(0)
	v_cndmask_b32_e64 v36, 0, v2, s[8:9]
	v_cndmask_b32_e64 v37, 0, v3, s[8:9]
	v_cndmask_b32_e64 v38, 0, v4, s[8:9]
	v_cndmask_b32_e64 v39, 0, v5, s[8:9]
	v_lshl_or_b32 v18, v24, 4, s40
	s_and_b64 s[8:9], s[2:3], vcc
	ds_write_b128 v18, v[36:39]
	v_cndmask_b32_e64 v36, 0, v6, s[8:9]
	v_cndmask_b32_e64 v37, 0, v7, s[8:9]
	v_cndmask_b32_e64 v38, 0, v8, s[8:9]
	v_cndmask_b32_e64 v39, 0, v9, s[8:9]
	s_and_b64 s[8:9], s[4:5], vcc
	s_and_b64 vcc, s[6:7], vcc
	v_lshl_or_b32 v35, v25, 4, s40
	s_cmp_ge_u32 s36, s38
	ds_write_b128 v35, v[36:39]
	v_cndmask_b32_e64 v36, 0, v10, s[8:9]
	v_cndmask_b32_e64 v37, 0, v11, s[8:9]
	v_cndmask_b32_e64 v38, 0, v12, s[8:9]
	v_cndmask_b32_e64 v39, 0, v13, s[8:9]
	s_cselect_b64 s[28:29], -1, 0
	ds_write_b128 v18, v[36:39] offset:8192
	v_cndmask_b32_e32 v36, 0, v14, vcc
	v_cndmask_b32_e32 v37, 0, v15, vcc
	v_cndmask_b32_e32 v38, 0, v16, vcc
	v_cndmask_b32_e32 v39, 0, v17, vcc
	s_and_b64 vcc, exec, s[28:29]
	ds_write_b128 v35, v[36:39] offset:8192
	s_waitcnt lgkmcnt(0)
	s_barrier
	s_cbranch_vccnz .LBB2_2
	v_cmp_gt_u32_e32 vcc, s37, v34
	v_add_u32_e32 v14, v22, v34
	s_and_b64 s[8:9], s[0:1], vcc
	v_cndmask_b32_e64 v18, 0, v14, s[8:9]
	v_add_u32_e32 v15, v23, v34
	s_and_b64 s[8:9], s[2:3], vcc
	v_lshl_add_u64 v[10:11], v[18:19], 4, s[16:17]
	v_cndmask_b32_e64 v18, 0, v15, s[8:9]
	s_and_b64 s[8:9], s[4:5], vcc
	v_lshl_add_u64 v[12:13], v[18:19], 4, s[16:17]
	v_cndmask_b32_e64 v18, 0, v14, s[8:9]
	s_and_b64 vcc, s[6:7], vcc
	v_lshl_add_u64 v[36:37], v[18:19], 4, s[18:19]
	v_cndmask_b32_e32 v18, 0, v15, vcc
	global_load_dwordx4 v[2:5], v[10:11], off
	global_load_dwordx4 v[6:9], v[12:13], off
	v_lshl_add_u64 v[38:39], v[18:19], 4, s[18:19]
	global_load_dwordx4 v[10:13], v[36:37], off
	global_load_dwordx4 v[14:17], v[38:39], off
	s_branch .LBB2_2
	v_lshl_add_u32 v18, v27, 4, s40
	ds_read_b128 v[36:39], v18 offset:8192
	v_lshl_add_u32 v18, v26, 4, s40
	ds_read_b128 v[40:43], v18
	v_lshl_add_u32 v18, v29, 4, s40
	ds_read_b128 v[44:47], v18 offset:8192
	v_lshl_add_u32 v18, v31, 4, s40
	ds_read_b128 v[48:51], v18 offset:8192
	v_lshl_add_u32 v18, v33, 4, s40
	ds_read_b128 v[60:63], v18 offset:8192
	v_lshl_add_u32 v18, v28, 4, s40
	ds_read_b128 v[64:67], v18
	v_lshl_add_u32 v18, v30, 4, s40
	ds_read_b128 v[68:71], v18
	v_lshl_add_u32 v18, v32, 4, s40
	ds_read_b128 v[72:75], v18
	s_waitcnt lgkmcnt(6)
	v_mfma_f32_16x16x16_bf16 a[60:63], v[36:37], v[40:41], a[60:63]
	v_add_u32_e32 v34, 4, v34
	s_add_i32 s36, s36, 1
	s_addk_i32 s39, 0x400
	s_waitcnt lgkmcnt(5)
	v_mfma_f32_16x16x16_bf16 a[56:59], v[44:45], v[40:41], a[56:59]
	s_andn2_b64 vcc, exec, s[28:29]
	s_waitcnt lgkmcnt(4)
	v_mfma_f32_16x16x16_bf16 a[52:55], v[48:49], v[40:41], a[52:55]
	s_waitcnt lgkmcnt(3)
	v_mfma_f32_16x16x16_bf16 a[48:51], v[60:61], v[40:41], a[48:51]
	s_waitcnt lgkmcnt(2)
	v_mfma_f32_16x16x16_bf16 a[44:47], v[36:37], v[64:65], a[44:47]
	v_mfma_f32_16x16x16_bf16 a[40:43], v[44:45], v[64:65], a[40:43]
	v_mfma_f32_16x16x16_bf16 a[36:39], v[48:49], v[64:65], a[36:39]
	v_mfma_f32_16x16x16_bf16 a[32:35], v[60:61], v[64:65], a[32:35]
	s_waitcnt lgkmcnt(1)
	v_mfma_f32_16x16x16_bf16 a[28:31], v[36:37], v[68:69], a[28:31]
	v_mfma_f32_16x16x16_bf16 a[24:27], v[44:45], v[68:69], a[24:27]
	v_mfma_f32_16x16x16_bf16 a[20:23], v[48:49], v[68:69], a[20:23]
	v_mfma_f32_16x16x16_bf16 a[16:19], v[60:61], v[68:69], a[16:19]
	s_waitcnt lgkmcnt(0)
	v_mfma_f32_16x16x16_bf16 a[12:15], v[36:37], v[72:73], a[12:15]
	v_mfma_f32_16x16x16_bf16 a[8:11], v[44:45], v[72:73], a[8:11]
	v_mfma_f32_16x16x16_bf16 a[4:7], v[48:49], v[72:73], a[4:7]
	v_mfma_f32_16x16x16_bf16 a[0:3], v[60:61], v[72:73], a[0:3]
	v_mfma_f32_16x16x16_bf16 a[60:63], v[38:39], v[42:43], a[60:63]
	v_mfma_f32_16x16x16_bf16 a[56:59], v[46:47], v[42:43], a[56:59]
	v_mfma_f32_16x16x16_bf16 a[52:55], v[50:51], v[42:43], a[52:55]
	v_mfma_f32_16x16x16_bf16 a[48:51], v[62:63], v[42:43], a[48:51]
	v_mfma_f32_16x16x16_bf16 a[44:47], v[38:39], v[66:67], a[44:47]
	v_mfma_f32_16x16x16_bf16 a[40:43], v[46:47], v[66:67], a[40:43]
	v_mfma_f32_16x16x16_bf16 a[36:39], v[50:51], v[66:67], a[36:39]
	v_mfma_f32_16x16x16_bf16 a[32:35], v[62:63], v[66:67], a[32:35]
	v_mfma_f32_16x16x16_bf16 a[28:31], v[38:39], v[70:71], a[28:31]
	v_mfma_f32_16x16x16_bf16 a[24:27], v[46:47], v[70:71], a[24:27]
	v_mfma_f32_16x16x16_bf16 a[20:23], v[50:51], v[70:71], a[20:23]
	v_mfma_f32_16x16x16_bf16 a[16:19], v[62:63], v[70:71], a[16:19]
	v_mfma_f32_16x16x16_bf16 a[12:15], v[38:39], v[74:75], a[12:15]
	v_mfma_f32_16x16x16_bf16 a[8:11], v[46:47], v[74:75], a[8:11]
	v_mfma_f32_16x16x16_bf16 a[4:7], v[50:51], v[74:75], a[4:7]
	v_mfma_f32_16x16x16_bf16 a[0:3], v[62:63], v[74:75], a[0:3]
	s_cbranch_vccz .LBB2_5
