package state

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit/swaptest"
	"github.com/mintlake/mintlake/solana"
	"github.com/mintlake/mintlake/swap/venue"
)

// mute is a venue whose pools do not name their mints, as the curves of pump: the pool of a coin
// with SOL lies at the coin's own address.
type mute struct{ twin }

var muteProgram = swaptest.Named("mute program")

func (mute) Name() string       { return "mute" }
func (mute) Program() venue.Key { return muteProgram }

func muteAddress(coin venue.Key) venue.Key { return swaptest.Named("mute pool of " + coin.String()) }

func (mute) Lookup(a, b venue.Key) venue.Lookup {
	return venue.Lookup{Addresses: []venue.Key{muteAddress(a), muteAddress(b)}}
}

func (mute) Open(address venue.Key, _ []byte, mints ...venue.Key) (venue.Ref, error) {
	for _, coin := range mints {
		if muteAddress(coin) == address {
			return &muteRef{address: address, coin: coin}, nil
		}
	}
	return nil, errNoTwin
}

type muteRef struct {
	venue.Ref
	address, coin venue.Key
}

func (r *muteRef) Address() venue.Key    { return r.address }
func (r *muteRef) Mints() [2]venue.Key   { return [2]venue.Key{r.coin, swaptest.WrappedSOL} }
func (r *muteRef) Rank() uint64          { return 1 }
func (r *muteRef) Accounts() []venue.Key { return []venue.Key{r.address} }
func (r *muteRef) Own() []venue.Key      { return []venue.Key{r.address} }

func (r *muteRef) Decode(venue.State) (venue.Pool, error) {
	return &twinPool{twinRef: &twinRef{keys: [3]venue.Key{r.address}, mints: r.Mints()}}, nil
}

// TestAPoolThatNamesNoMintsIsFoundWhicheverPairWasAskedForFirst: a route asks for a coin with each
// hub, and the coin's pool is only with one of them.
func TestAPoolThatNamesNoMintsIsFoundWhicheverPairWasAskedForFirst(t *testing.T) {
	dollar := swaptest.Named("dollar")
	for _, hubs := range [][2]venue.Key{{dollar, swaptest.WrappedSOL}, {swaptest.WrappedSOL, dollar}} {
		f := NewFold(FoldConfig{}, venue.List{mute{}})
		coin := swaptest.Named("coin")
		for _, hub := range hubs {
			f.Ask(coin, hub)
			f.Complete(coin, hub)
		}
		begin(f)
		f.Covered(f.Fresh(), 0)
		f.Confirmed(10, 0)
		keys := f.Wanted(100, 0, 1).Keys
		accounts := make([]*solana.Account, len(keys))
		for i, key := range keys {
			switch key {
			case muteAddress(coin):
				accounts[i] = &solana.Account{Owner: muteProgram}
			case coin, dollar, swaptest.WrappedSOL:
				accounts[i] = mintAccount()
			}
		}
		f.Read(10, keys, accounts)
		f.Publish()
		found, err := f.Snapshot().Pair(coin, swaptest.WrappedSOL)
		require.NoError(t, err)
		require.Len(t, found.Pools, 1)
		found, err = f.Snapshot().Pair(coin, dollar)
		require.NoError(t, err)
		require.Empty(t, found.Pools)
	}
}
