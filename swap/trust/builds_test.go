package trust

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit/swaptest"
	"github.com/mintlake/mintlake/solana"
	"github.com/mintlake/mintlake/swap/venue"
	"github.com/mintlake/mintlake/swap/venue/cpmm"
)

// optional is a venue of which some builds lack two features.
type optional struct{ cpmm.Venue }

func (optional) Optional() venue.Features { return 2 | 4 }

// TestAnOptionalFeatureIsQuotedOnBuildsThatAreKnownToHaveIt, however else a build is trusted.
func TestAnOptionalFeatureIsQuotedOnBuildsThatAreKnownToHaveIt(t *testing.T) {
	sums := map[string]string{"both": Sum([]byte("both")), "one": Sum([]byte("one")), "none": Sum([]byte("none"))}
	known := func(sum string, has venue.Features) KnownBuild {
		return KnownBuild{Name: sum, SHA256: map[venue.Key]string{cpmm.Program: sum}, Has: map[string]venue.Features{cpmm.Name: has, "another venue": 2 | 4}}
	}
	builds := []KnownBuild{known(sums["both"], 2|4), known(sums["one"], 4), known(sums["none"], 0)}
	for name, allowed := range map[string][3]bool{"both": {true, true, true}, "one": {true, false, true}, "none": {true, false, false}, "first seen": {true, false, false}} {
		b := newBook(venue.List{optional{}}, Terms{Matches: 1, Known: builds}, nil)
		deployed := mark{Loader: solana.LoaderUpgradeable, Slot: 1, Code: swaptest.Named("code"), At: solana.ProgramDataCode}
		b.noteDeployments(map[venue.Key]mark{cpmm.Program: deployed}, 3, time.Now())
		b.noteHash(cpmm.Program, deployed, sums[name], time.Now())
		for i, features := range []venue.Features{1, 1 | 2, 4} {
			err := b.records[cpmm.Name].Allows(features)
			require.Equal(t, allowed[i], err == nil, "%s, %b: %v", name, features, err)
			if err != nil {
				require.ErrorIs(t, err, venue.ErrUnverified)
			}
		}
	}
}
