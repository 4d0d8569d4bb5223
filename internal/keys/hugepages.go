//go:build !linux

package keys

func adviseHugePages([]Found) {}
