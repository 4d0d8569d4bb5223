package trust

import (
	"github.com/mintlake/mintlake/swap/venue"
	"github.com/mintlake/mintlake/swap/venue/ammv4"
	"github.com/mintlake/mintlake/swap/venue/pumpcurve"
	"github.com/mintlake/mintlake/swap/venue/pumpfees"
	"github.com/mintlake/mintlake/swap/venue/pumpswap"
)

// KnownBuild is a set of executables that our tests cover: `make test-programs` executes thousands
// of swaps on each. SHA256 has the hash of each program's executable, as Sum returns it.
type KnownBuild struct {
	Name   string
	SHA256 map[venue.Key]string
	// Has are the optional features (venue.Traced) that its venues have, by their names.
	Has map[string]venue.Features
}

var multiHop = map[string]venue.Features{pumpswap.Name: pumpswap.FeatureMultiHop}

// KnownBuilds are the executables in the versions of the package pump-rust-client (crates.io). A
// venue is covered only if all of its programs are of the same build, because our tests never ran
// programs of different builds together.
var KnownBuilds = []KnownBuild{
	{Name: "pump-rust-client 0.5.0", Has: multiHop, SHA256: map[venue.Key]string{
		pumpswap.Program:  "d14cab1d9dc570b16d735cb510cb577075db7b158e42e8930f7f11cbd16d579f",
		pumpcurve.Program: "7fe139caafe19d495bd1f058f13fac46f95a8187febd98f42a0b5230ed68fdb7",
		pumpfees.Program:  "8ad2ca93c7ae97a7fb0de8a99de4d8825ccfdf89f73138cd49bda948e124b8b8",
		ammv4.Program:     "f8b7395f51b05731f8ed86d35794c9fec26c9d87ff70406a7837bc65cf68dd65",
	}},
	{Name: "pump-rust-client 0.4.0", Has: multiHop, SHA256: map[venue.Key]string{
		pumpswap.Program:  "a61a52950e01031a78fadf32ebb544c776254c1a49d6b5bfd5696491edfb3b17",
		pumpcurve.Program: "3db6ca8d83ab337392d51da23ab351c11373c937f6327e044ca640695586bf06",
		pumpfees.Program:  "9701b698bf970005ceb3f5358ff691bf8008cd9f9348440beb1c35fc47230f6a",
	}},
	{Name: "pump-rust-client 0.2.0", SHA256: map[venue.Key]string{
		pumpswap.Program:  "b43ed8c4f0bc5d453c069025286f39d8aeb103f870f35d9052aa457eeaeb67e1",
		pumpcurve.Program: "abab5c552445b40402ed79a6643556f7c8d1686bcdde3efd75388cf04551c3cd",
		pumpfees.Program:  "f261f1e23ec0af3180b38ce9c5089fc948205997a69832e3c041f5f13ae57944",
	}},
}

// covers returns whether all these programs are deployed as in the build.
func (b KnownBuild) covers(programs []deployed) bool {
	for _, p := range programs {
		if b.SHA256[p.program] == "" || b.SHA256[p.program] != p.sum {
			return false
		}
	}
	return true
}
