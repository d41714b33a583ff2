package muon

import "zbench/bench/trainer"

// Presets lists the models.
func Presets() []Preset {
	var all []Preset
	for _, name := range trainer.PresetNames() {
		if p, err := PresetByName(name); err == nil {
			all = append(all, p)
		}
	}
	return all
}

// Elements is the number of a preset's weights.
func (p Preset) Elements() int64 {
	var n int64
	for _, s := range p.Shapes {
		n += s.elements()
	}
	return n
}
