package balances

import (
	"fmt"
	"slices"
)

// Modes of Config.
const (
	// ModeAuto is ModeAll with the demo chain as the source, else ModeOff.
	ModeAuto = "auto"
	// ModeAll takes every mint.
	ModeAll = "all"
	// ModeList takes the mints of Config.Mints.
	ModeList = "list"
	// ModeOff takes none.
	ModeOff = "off"
)

// DefaultHistoryDays is for how many days tables keep changes and transfers by default.
const DefaultHistoryDays = 30

// Config says of which mints balances and transfers are kept, and for how long. DefaultConfig has
// the defaults.
type Config struct {
	Mode        string `koanf:"mode" usage:"of which mints balances, holders and transfers are kept: all; list, those in balances.mints; off; auto = all on the demo chain, off otherwise"`
	Mints       string `koanf:"mints" usage:"with balances.mode list: file with a mint a line, base58; # begins a comment"`
	HistoryDays int    `koanf:"history_days" usage:"days for which ClickHouse keeps changes of balances and transfers; 0: for ever. Holders of now do not depend on it"`
}

// DefaultConfig returns the documented defaults; they pass Validate.
func DefaultConfig() Config { return Config{Mode: ModeAuto, HistoryDays: DefaultHistoryDays} }

// Validate returns an error with the key under `balances`, its value and its rule.
func (c *Config) Validate() error {
	modes := []string{ModeAuto, ModeAll, ModeList, ModeOff}
	switch {
	case !slices.Contains(modes, c.Mode):
		return fmt.Errorf("balances.mode: %q: must be one of %v", c.Mode, modes)
	case c.Mode == ModeList && c.Mints == "":
		return fmt.Errorf(`balances.mints: "": must name a file of mints when balances.mode is %s`, ModeList)
	case c.HistoryDays < 0 || c.HistoryDays > 36_500:
		return fmt.Errorf("balances.history_days: %d: must be from 0 (for ever) to 36500", c.HistoryDays)
	}
	return nil
}

// On reports whether balances of any mint are kept. demo says that the source is the demo chain.
func (c *Config) On(demo bool) bool {
	return c.Mode == ModeAll || c.Mode == ModeList || c.Mode == ModeAuto && demo
}
