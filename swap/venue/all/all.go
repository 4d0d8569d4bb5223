// Package all has the list of the venues that Mintlake knows.
package all

import (
	"github.com/mintlake/mintlake/swap/venue"
	"github.com/mintlake/mintlake/swap/venue/ammv4"
	"github.com/mintlake/mintlake/swap/venue/clmm"
	"github.com/mintlake/mintlake/swap/venue/cpmm"
	"github.com/mintlake/mintlake/swap/venue/dammv1"
	"github.com/mintlake/mintlake/swap/venue/dammv2"
	"github.com/mintlake/mintlake/swap/venue/dbc"
	"github.com/mintlake/mintlake/swap/venue/dlmm"
	"github.com/mintlake/mintlake/swap/venue/launchlab"
	"github.com/mintlake/mintlake/swap/venue/pumpcurve"
	"github.com/mintlake/mintlake/swap/venue/pumpswap"
	"github.com/mintlake/mintlake/swap/venue/whirlpool"
)

// Venues returns the venues in the order in which a quote asks them.
func Venues() venue.List {
	return venue.List{
		cpmm.Venue{}, ammv4.Venue{}, pumpswap.Venue{}, pumpcurve.Venue{}, dammv2.Venue{},
		whirlpool.Venue{}, dlmm.Venue{}, clmm.Raydium, clmm.PancakeSwap, clmm.Byreal, clmm.Stabble,
		dbc.Venue{}, launchlab.Venue{}, dammv1.Venue{},
	}
}
