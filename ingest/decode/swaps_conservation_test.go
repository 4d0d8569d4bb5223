package decode_test

import (
	"testing"

	"github.com/mr-tron/base58"
	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/ingest/chain"
	"github.com/mintlake/mintlake/ingest/decode"
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// Over each recorded block, what came into and went out of the vaults of all pools that traded is
// what their legs say: in each transaction by itself, and from one transaction to the next no
// balance moved unseen. So no leg of a pool that traded is missing and none is told twice.
// Transactions that move a vault's tokens by something else than a swap are named.
func TestLegsExplainTheVaults(t *testing.T) {
	// A Heaven creator takes his fees out of the vaults, which all pools of a kind share.
	const fees = "claim of a creator's fees"
	explained := map[string]string{
		"aLKjam64kpN8RUUu8imar9La6Mgooj1PmqyF4yoyPuU86Y1YoDK4PfawaDuE7RfeB2qq4Yd6aXgMUbpBwZ6QHs5":  fees,
		"3iLhH2kWvkBmE8Yg431ezsTPyphTAZffDW74GQMkdAvmHPUaBNErcdiKwoQjt9B9NKM29YU6RfuSUp1n93S5Eo1h": fees,
		"2nZeJopJh6C5s9Th1fEVmukrNwo6cHva8HLaNtW9x15KXQAUd3zw2UKTFjh7mSryCBsuUGrSxkf6r9jd9AxsuKp2": fees,
	}
	for name, want := range map[string]int{"254170887": 140, "332254855": 91, "361774429": 264} {
		t.Run(name, func(t *testing.T) {
			block := realTransactions(t, name)[0]
			moved, vaults := legMovements(block)
			last, compared := make(map[pubkey.Key]uint64), 0
			for i := range block.Transactions {
				tx := &block.Transactions[i]
				signature := base58.Encode(tx.Signature[:])
				delta := make(map[pubkey.Key]int64)
				for _, b := range tx.PreBalances {
					vault := tx.Keys[b.AccountIndex]
					if !vaults[vault] {
						continue
					}
					if before, ok := last[vault]; ok {
						require.Equal(t, before, b.Amount, "%s moved before %s", base58.Encode(vault[:]), signature)
					}
					delta[vault] -= int64(b.Amount)
				}
				for _, b := range tx.PostBalances {
					if vault := tx.Keys[b.AccountIndex]; vaults[vault] {
						delta[vault] += int64(b.Amount)
						last[vault] = b.Amount
					}
				}
				for vault, change := range delta {
					if explained[signature] != "" {
						require.Zero(t, moved[i][vault], "no swap: %s", explained[signature])
						continue
					}
					require.Equal(t, moved[i][vault], change, "%s in %s", base58.Encode(vault[:]), signature)
					compared++
				}
			}
			require.Equal(t, want, compared)
		})
	}
}

// legMovements sums the legs' amounts by transaction and vault, and says which vaults have any. The
// lamports of a curve are no token account.
func legMovements(block *chain.Block) (moved []map[pubkey.Key]int64, vaults map[pubkey.Key]bool) {
	decoder := decode.New(nil)
	vaults = make(map[pubkey.Key]bool)
	for i := range block.Transactions {
		sums := make(map[pubkey.Key]int64)
		add := func(leg *eventspb.SwapLeg, vault []byte, amount int64) {
			if string(vault) != string(leg.GetPool()) {
				sums[pubkey.Key(vault)] += amount
				vaults[pubkey.Key(vault)] = true
			}
		}
		for _, leg := range decoder.Swaps(&block.Transactions[i], block.Slot, block.BlockTime).Legs {
			add(leg, leg.GetVaultIn(), int64(leg.GetAmountIn()))
			add(leg, leg.GetVaultOut(), -int64(leg.GetAmountOut()))
		}
		moved = append(moved, sums)
	}
	return moved, vaults
}
