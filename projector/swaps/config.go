package swaps

import "fmt"

// DefaultSignatureDays is the same as in the migration of the table: as long as chain.swaps.v1
// keeps the legs.
const DefaultSignatureDays = 30

// Config configures the projector of swaps. DefaultConfig has the defaults.
type Config struct {
	// SignatureDays counts from the day of the insertion, so that signatures of old recordings are
	// kept as long as those of new legs.
	SignatureDays int `koanf:"signature_days" usage:"days for which a stored swap leg keeps its transaction's signature; 0: for ever"`
}

// DefaultConfig returns the documented defaults; they pass Validate.
func DefaultConfig() Config { return Config{SignatureDays: DefaultSignatureDays} }

// Validate returns an error with the key under `swaps`, its value and its rule.
func (c *Config) Validate() error {
	if c.SignatureDays < 0 || c.SignatureDays > 36_500 {
		return fmt.Errorf("swaps.signature_days: %d: must be from 0 (for ever) to 36500", c.SignatureDays)
	}
	return nil
}
