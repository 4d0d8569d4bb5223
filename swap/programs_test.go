package swap

import (
	"encoding/base64"
	"encoding/binary"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/mr-tron/base58"
	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit/svmtest"
	"github.com/mintlake/mintlake/internal/testkit/swaptest"
	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/solana"
	"github.com/mintlake/mintlake/swap/venue"
	"github.com/mintlake/mintlake/swap/venue/pumpcurve"
)

// programs is a chain whose transactions the venues' programs execute.
type programs struct {
	*svmtest.Scene
	t       *testing.T
	machine *svmtest.Machine
	chain   *swaptest.Chain
	// left are accounts that the last case made, and that the next one must not find.
	left []venue.Key
	// refused counts by code.
	refused map[string]int
}

func newPrograms(t *testing.T, version string) *programs {
	t.Helper()
	p := &programs{Scene: svmtest.NewScene(t, venue.Key(wallet), 1), t: t, machine: svmtest.Start(t), chain: swaptest.New(), refused: map[string]int{}}
	p.chain.SetRent(svmtest.LamportsPerByte, 1)
	p.machine.Load(svmtest.Fetch(t, version))
	p.machine.Clock(svmtest.Now)
	p.chain.At(svmtest.Now)
	return p
}

// put takes the scene over into the chain and the machine.
func (p *programs) put() {
	p.t.Helper()
	p.chain.Put(p.Held)
	p.machine.Set(p.Held)
}

// deploy puts programs of a version into the chain's next slot.
func (p *programs) deploy(version string, list ...venue.Key) {
	p.t.Helper()
	p.chain.Edit(swaptest.Clock, func([]byte) {})
	dir := svmtest.Fetch(p.t, version)
	for name, program := range svmtest.Programs {
		for _, wanted := range list {
			if wanted == program {
				code, err := os.ReadFile(filepath.Join(dir, name))
				require.NoError(p.t, err)
				p.chain.Deploy(program, p.chain.Slot(), code)
			}
		}
	}
}

// run executes a transaction, which must succeed.
func (p *programs) run(wire []byte) *svmtest.Ran {
	p.t.Helper()
	ran := p.machine.Run(wire)
	require.Empty(p.t, ran.Err, "%v", ran.Logs)
	var inner []any
	for i, calls := range ran.Inner {
		var list []any
		for _, c := range calls {
			list = append(list, map[string]any{"programIdIndex": c.Program, "stackHeight": c.Height, "accounts": c.Accounts, "data": base58.Encode(c.Data)})
		}
		if list != nil {
			inner = append(inner, map[string]any{"index": i, "instructions": list})
		}
	}
	p.chain.Execute(wire, svmtest.Now.UnixTime, false, ran.Accounts, inner)
	return ran
}

// holds is what the user has of a token, or of lamports.
func (p *programs) holds(of venue.Key, native bool) uint64 {
	p.t.Helper()
	key := p.User
	if !native {
		key = p.Account(p.User, of)
	}
	_, accounts, err := p.chain.GetMultipleAccounts(p.t.Context(), []venue.Key{key}, solana.AccountOptions{})
	require.NoError(p.t, err)
	switch {
	case accounts[0] == nil:
		return 0
	case native:
		return accounts[0].Lamports
	}
	return binary.LittleEndian.Uint64(accounts[0].Data[64:])
}

// signatureFee is in lamports.
const signatureFee = 5000

// swap runs the transaction of an answer: the user gets what was quoted.
func (p *programs) swap(r Response) {
	p.t.Helper()
	out := pubkey.MustParse(r.TargetMint)
	native := r.Route[len(r.Route)-1].Venue == pumpcurve.Name && out == swaptest.WrappedSOL
	wire, err := base64.StdEncoding.DecodeString(r.Txn)
	require.NoError(p.t, err)
	before := p.holds(out, native)
	ran := p.run(wire)
	got := p.holds(out, native) - before
	if native {
		got += signatureFee + r.PriorityFee
	}
	require.Equal(p.t, r.AmountOut, strconv.FormatUint(got, 10), "%+v", r.Route)
	require.LessOrEqual(p.t, ran.Units, r.ComputeUnits)
}
