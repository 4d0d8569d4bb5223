package volume

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/mintlake/mintlake/schemas/pubkey"
)

// Config of the volume room. DefaultConfig has the defaults.
type Config struct {
	Interval time.Duration `koanf:"interval" usage:"time between two valuations of new legs"`
	// Stables anchor all prices: each is defined to be worth a dollar. An operator who does not
	// trust one removes it.
	Stables []string `koanf:"stables" usage:"mints that are worth one US dollar, as MINT:DECIMALS"`
	// SOLFloorUSD and FloorUSD are how much a pool must hold on its anchor side for its trades to
	// make a price.
	SOLFloorUSD int `koanf:"sol_floor_usd" usage:"US dollars that a SOL pool must hold in a stable to count for the price of SOL"`
	FloorUSD    int `koanf:"floor_usd" usage:"US dollars that a pool must hold in SOL or a stable to count for a token's price"`
}

// DefaultConfig returns the documented defaults; they pass Validate.
func DefaultConfig() Config {
	return Config{
		Interval: 10 * time.Second,
		Stables: []string{
			"EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v:6", // USDC
			"Es9vMFrzaCERmJfrF4H2FYD4KCoNkY11McCe8BenwNYB:6", // USDT
			"2b1kV6DkPAnxd5ixfnxCpjxmKwqjjaYmCZfHsFu24GXo:6", // PYUSD
			"USD1ttGY1N17NEEHLmELoaybftRBUSErhqYiQzvEmuB:6",  // USD1
			"USDSwr9ApdHk5bvJKMjzff41FfuX8bSxdKcR81vTwcA:6",  // USDS
		},
		SOLFloorUSD: 10_000, FloorUSD: 1_000,
	}
}

// Validate returns an error that joins all problems, each with its key under `volume`, its value
// and its rule.
func (c *Config) Validate() error {
	var errs []error
	if c.Interval < time.Second {
		errs = append(errs, fmt.Errorf("volume.interval: %s: must be at least 1s", c.Interval))
	}
	if len(c.Stables) == 0 {
		errs = append(errs, errors.New("volume.stables: none: must name at least one mint, or nothing has a price"))
	}
	if c.SOLFloorUSD < 1 {
		errs = append(errs, fmt.Errorf("volume.sol_floor_usd: %d: must be at least 1", c.SOLFloorUSD))
	}
	if c.FloorUSD < 1 {
		errs = append(errs, fmt.Errorf("volume.floor_usd: %d: must be at least 1", c.FloorUSD))
	}
	for _, stable := range c.Stables {
		if _, _, err := parseStable(stable); err != nil {
			errs = append(errs, fmt.Errorf("volume.stables: %q: %w", stable, err))
		}
	}
	return errors.Join(errs...)
}

// parseStable reads MINT:DECIMALS.
func parseStable(text string) (mint pubkey.Key, decimals int, err error) {
	address, number, _ := strings.Cut(text, ":")
	if mint, err = pubkey.Parse(address); err != nil {
		return mint, 0, errors.New("must be MINT:DECIMALS, the mint in base58")
	}
	decimals, err = strconv.Atoi(number)
	if err != nil || decimals < 0 || decimals > 18 {
		return mint, 0, errors.New("must be MINT:DECIMALS, the decimals from 0 to 18")
	}
	return mint, decimals, nil
}
