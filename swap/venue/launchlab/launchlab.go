// Package launchlab knows Raydium's LaunchLab: bonding curves on which new coins trade until they
// move to a pool of Raydium's.
//
// In: accounts of the chain, hostile. Out: quotes by the documented arithmetic, and the program's
// instructions.
// Guarantees: decoding and arithmetic are pure and never panic; what is not documented is refused.
//
// There is no executable of the program. So nothing is quoted until enough swaps on the chain were
// computed again with the same result (venue.ProofChain). The code is written from the layouts of
// raydium-io/raydium-cpi@62606b0 and from what raydium-io/raydium-docs@5198365 and
// raydium-sdk-V2@124c625 tell of the formulas. It is checked against events of the program.
package launchlab

import (
	"fmt"

	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/swap/venue"
)

// Name is the name of the venue in the swaps table.
const Name = "raydium_launchlab"

var (
	// Program is the program id of LaunchLab.
	Program = pubkey.MustParse("LanMV9sAd7wArD4vJFi2qDdfnVhFxYSUg6eADduJ3uj")
	// Authority is the authority over all vaults.
	Authority = venue.MustDerive(Program, []byte("vault_auth_seed"))

	eventAuthority = venue.MustDerive(Program, []byte("__event_authority"))
)

// Venue is LaunchLab.
type Venue struct{}

// Name implements venue.Venue.
func (Venue) Name() string { return Name }

// Program implements venue.Venue.
func (Venue) Program() venue.Key { return Program }

// Address returns the address of the curve on which coin trades against quote.
func Address(coin, quote venue.Key) (venue.Key, error) {
	return venue.Derive(Program, []byte("pool"), coin[:], quote[:])
}

// Lookup implements venue.Venue. Either mint may be the coin.
func (Venue) Lookup(a, b venue.Key) venue.Lookup {
	var l venue.Lookup
	for _, keys := range [][2]venue.Key{{a, b}, {b, a}} {
		if address, err := Address(keys[0], keys[1]); err == nil {
			l.Addresses = append(l.Addresses, address)
		}
	}
	return l
}

// Open implements venue.Venue.
func (Venue) Open(address venue.Key, data []byte, _ ...venue.Key) (venue.Ref, error) {
	s, err := decodeState(data)
	if err != nil {
		return nil, err
	}
	return &ref{address: address, config: s.config, platform: s.platform, mints: s.mints, depth: s.realQuote}, nil
}

// ref implements venue.Ref. depth is the quote amount that the curve holds.
type ref struct {
	address, config, platform venue.Key
	mints                     [2]venue.Key
	depth                     uint64
}

// Address implements venue.Ref.
func (r *ref) Address() venue.Key { return r.address }

// Mints implements venue.Ref.
func (r *ref) Mints() [2]venue.Key { return r.mints }

// Rank implements venue.Ref.
func (r *ref) Rank() uint64 { return r.depth }

// Accounts implements venue.Ref.
func (r *ref) Accounts() []venue.Key { return []venue.Key{r.address, r.config, r.platform} }

// Own implements venue.Ref.
func (r *ref) Own() []venue.Key { return []venue.Key{r.address} }

// Decode implements venue.Ref.
func (r *ref) Decode(accounts venue.State) (venue.Pool, error) {
	p, err := r.decode(accounts)
	if err != nil {
		return nil, fmt.Errorf("curve %s: %w", r.address.String(), err)
	}
	return p, nil
}

func (r *ref) decode(accounts venue.State) (*Pool, error) {
	data, err := venue.Owned(accounts, r.address, Program)
	if err != nil {
		return nil, err
	}
	p := &Pool{address: r.address}
	if p.state, err = decodeState(data); err != nil {
		return nil, err
	}
	if p.config, err = venue.Config(accounts, p.state.config, Program, decodeConfig); err != nil {
		return nil, err
	}
	if p.platform, err = venue.Config(accounts, p.state.platform, Program, decodePlatform); err != nil {
		return nil, err
	}
	for side, key := range p.state.mints {
		if p.mints[side], err = venue.Mint(accounts, key); err != nil {
			return nil, err
		}
	}
	return p, p.check()
}
