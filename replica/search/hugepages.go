//go:build !linux

package search

func adviseHugePages([]byte) {}

func seekHugePages([]byte) {}
