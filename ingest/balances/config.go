package balances

import (
	"fmt"
	"slices"
	"time"
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

// DefaultTopicDays is for how many days topics keep changes and transfers by default.
const DefaultTopicDays = 7

// DefaultHistoryDays is for how many days tables keep changes and transfers by default.
const DefaultHistoryDays = 30

// Config says of which mints balances and transfers are kept, where, and for how long.
// DefaultConfig has the defaults.
type Config struct {
	Mode        string        `koanf:"mode" usage:"of which mints balances, holders and transfers are kept: all; list, those in balances.mints; off; auto = all on the demo chain, off otherwise"`
	Mints       string        `koanf:"mints" usage:"with balances.mode list: file with a mint a line, base58; # begins a comment"`
	TopicDays   int           `koanf:"topic_days" usage:"days for which Kafka keeps changes of balances and transfers: 1 to 3650"`
	HistoryDays int           `koanf:"history_days" usage:"days for which ClickHouse keeps changes of balances and transfers; 0: for ever. Holders of now do not depend on it"`
	BaseEvery   time.Duration `koanf:"base_every" usage:"how often all open token accounts are written to Kafka, so that tables can be made anew when older changes have expired there: 1s to half of balances.topic_days; 0: never"`
}

// DefaultConfig returns the documented defaults; they pass Validate.
func DefaultConfig() Config {
	return Config{Mode: ModeAuto, TopicDays: DefaultTopicDays, HistoryDays: DefaultHistoryDays, BaseEvery: 24 * time.Hour}
}

// TopicAge is for how long the topics of changes and transfers keep a record.
func (c *Config) TopicAge() time.Duration { return time.Duration(c.TopicDays) * 24 * time.Hour }

// BaseAge is for how long the topic of bases keeps a record: half of TopicAge, because a base is of
// no use once changes after it have expired. But it is at least two and a half intervals, in which
// there is one whole base at any time.
func (c *Config) BaseAge() time.Duration { return max(c.TopicAge()/2, c.BaseEvery*5/2) }

// Validate returns an error about the first setting that breaks its rule; nil if none does. The
// error has the setting's key, its value and the rule.
func (c *Config) Validate() error {
	modes := []string{ModeAuto, ModeAll, ModeList, ModeOff}
	switch {
	case !slices.Contains(modes, c.Mode):
		return fmt.Errorf("balances.mode: %q: must be one of %v", c.Mode, modes)
	case c.Mode == ModeList && c.Mints == "":
		return fmt.Errorf(`balances.mints: "": must name a file of mints when balances.mode is %s`, ModeList)
	case c.TopicDays < 1 || c.TopicDays > 3650:
		return fmt.Errorf("balances.topic_days: %d: must be from 1 to 3650", c.TopicDays)
	case c.BaseEvery != 0 && (c.BaseEvery < time.Second || c.BaseEvery > c.TopicAge()/2):
		return fmt.Errorf("balances.base_every: %s: must be 0 (never), or from 1s to half of balances.topic_days, %s", c.BaseEvery, c.TopicAge()/2)
	case c.HistoryDays < 0 || c.HistoryDays > 36_500:
		return fmt.Errorf("balances.history_days: %d: must be from 0 (for ever) to 36500", c.HistoryDays)
	}
	return nil
}

// On reports whether balances of any mint are kept. demo says that the source is the demo chain.
func (c *Config) On(demo bool) bool {
	return c.Mode == ModeAll || c.Mode == ModeList || c.Mode == ModeAuto && demo
}
