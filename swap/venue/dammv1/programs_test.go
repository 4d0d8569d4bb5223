package dammv1

import (
	"encoding/binary"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit/executed"
	"github.com/mintlake/mintlake/internal/testkit/svmtest"
	"github.com/mintlake/mintlake/internal/testkit/swaptest"
	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/solana"
	"github.com/mintlake/mintlake/swap/txn"
	"github.com/mintlake/mintlake/swap/venue"
	"github.com/mintlake/mintlake/testworld/layout"
)

// TestPrograms runs transactions of our builder on the programs: over the pools of the test
// vectors, new orders at new times, in both directions, exact in and exact out. The programs are
// in no package, so it needs MINTLAKE_DAMM_V1_PROGRAMS: a folder with dynamic_amm.so and
// dynamic_vault.so.
func TestPrograms(t *testing.T) {
	dir := os.Getenv("MINTLAKE_DAMM_V1_PROGRAMS")
	if dir == "" {
		t.Skip("MINTLAKE_DAMM_V1_PROGRAMS names no folder with the programs")
	}
	file := executed.Read[args, after](t, vectors+"executed_damm_v1_2025-11.json.gz")
	m := svmtest.Start(t)
	m.Program(Program, filepath.Join(dir, "dynamic_amm.so"))
	m.Program(VaultProgram, filepath.Join(dir, "dynamic_vault.so"))
	random, counts := rand.New(rand.NewPCG(1, 2)), map[string]int{}
	for state := range file.States {
		for range 4 {
			counts[run(t, m, file, state, random)]++
		}
	}
	t.Log(counts)
	require.Greater(t, counts["same"], 300)
}

// run makes an order on a state, and tells what came of it.
func run(t *testing.T, m *svmtest.Machine, file *executed.File[args, after], state int, random *rand.Rand) string {
	t.Helper()
	accounts := map[venue.Key]*solana.Account{}
	s := &file.States[state]
	for role, key := range s.Keys {
		if owner, hash := s.Owners[role], s.Accounts[role]; owner != nil && hash != nil {
			accounts[pubkey.MustParse(key)] = &solana.Account{Owner: pubkey.MustParse(*owner), Data: file.Accounts[*hash], Lamports: svmtest.Rich}
		}
	}
	address := file.Key(t, state, "pool")
	opened, err := Venue{}.Open(address, accounts[address].Data)
	require.NoError(t, err)
	decoded, err := opened.Decode(gone{venue.NewAccounts(accounts)})
	if err != nil {
		return "not decoded"
	}
	p, mints, clock := decoded.(*Pool), opened.Mints(), file.Clock(state)
	clock.Slot, clock.UnixTime = clock.Slot+random.Uint64N(5000), clock.UnixTime+random.Int64N(2000)
	side := random.IntN(2)
	o := venue.Order{In: mints[side], Amount: 1<<random.IntN(40) + random.Uint64N(1000), ExactOut: random.IntN(3) == 0, Clock: clock}
	q, err := p.Quote(o)
	if err != nil {
		return string(venue.RefusalOf(err))
	}
	user, owners := swaptest.Named("user"), [2]venue.Key{swaptest.Named("user"), swaptest.Named("user")}
	if random.IntN(2) == 0 {
		owners[1-side] = swaptest.Named("another") // the program pays to any account
	}
	const has = 1 << 62
	accounts[user] = &solana.Account{Lamports: svmtest.Rich, Owner: venue.SystemProgram}
	var held [2]venue.Key
	for i, of := range mints {
		held[i], err = venue.AssociatedAccount(owners[i], of, swaptest.TokenProgram)
		require.NoError(t, err)
		account := layout.TokenAccount{Mint: of, Owner: owners[i], Amount: has}
		accounts[held[i]] = &solana.Account{Owner: swaptest.TokenProgram, Data: account.Bytes(), Lamports: svmtest.Rich}
	}
	of := func(key venue.Key) txn.Side {
		return txn.Side{Mint: key, Program: swaptest.TokenProgram, AccountSize: 165}
	}
	limit := q.AmountOut
	if o.ExactOut {
		limit = q.AmountIn
	}
	built, err := txn.Build(txn.Request{User: user, In: of(o.In), Out: of(q.Out), HasWrapped: true, Swaps: []txn.Swap{{
		In: of(o.In), Out: of(q.Out), Spend: q.AmountIn, Units: q.ComputeUnits,
		Instructions: func(user venue.UserAccounts) ([]venue.Instruction, error) {
			user.Destination = held[1-side]
			return p.Instructions(q, limit, user)
		},
	}}})
	require.NoError(t, err)
	m.Set(accounts)
	m.Clock(clock)
	ran := m.Run(built.Bytes)
	require.Empty(t, ran.Err, "state %d, %+v, %+v\n%v", state, o, q, ran.Logs)
	require.LessOrEqual(t, ran.Units, built.ComputeUnits)
	amount := func(i int) uint64 { return binary.LittleEndian.Uint64(ran.Accounts[held[i]].Data[64:]) }
	require.Equal(t, [2]uint64{q.AmountIn, q.AmountOut}, [2]uint64{has - amount(side), amount(1-side) - has}, "state %d, %+v", state, o)
	return "same"
}
