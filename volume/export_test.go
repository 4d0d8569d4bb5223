package volume

// InParts changes how many dirty minutes one valuation takes.
func (v *Volume) InParts(n int) { v.part = n }
