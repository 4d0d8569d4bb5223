package chain

import (
	"encoding/binary"
	"math/rand/v2"

	"github.com/mintlake/mintlake/testworld/layout"
)

// The aggregator is at Jupiter's address, calls the venues as Jupiter does, and tells each swap by
// Jupiter's event. Its instruction's data is the chain's own: the calls, one after the other.
var (
	jupiterRoute     = layout.Discriminator("global:route")
	jupiterSwapEvent = layout.Discriminator("event:SwapEvent")
	jupiterEvents, _ = pda(JupiterProgram, []byte("__event_authority"))
)

// hop is a swap of a route: the venue's instruction, and the user's accounts that pay and get.
type hop struct {
	swap     Instruction
	from, to Key
}

// ixRoute is a route. Accounts: user (signer), event authority, program; then of each hop the
// venue, the user's two accounts, and those of its instruction. Data: how many hops; of each, how
// many accounts its instruction has, and its data after their length.
func ixRoute(user Key, hops ...hop) Instruction {
	out := Instruction{Program: JupiterProgram, Accounts: []AccountMeta{signer(user), readonly(jupiterEvents), readonly(JupiterProgram)}}
	out.Data = append(append(out.Data, jupiterRoute[:]...), byte(len(hops)))
	for _, h := range hops {
		out.Accounts = append(append(out.Accounts, readonly(h.swap.Program), writable(h.from), writable(h.to)), h.swap.Accounts...)
		out.Data = binary.LittleEndian.AppendUint16(append(out.Data, byte(len(h.swap.Accounts))), uint16(len(h.swap.Data)))
		out.Data = append(out.Data, h.swap.Data...)
	}
	return out
}

// runJupiter runs a route.
func runJupiter(x *machine, f *frame) error {
	x.used += 8_000
	if len(f.data) >= 8 && [8]byte(f.data[:8]) == anchorEventPrefix {
		return nil
	}
	if len(f.data) < 9 || [8]byte(f.data[:8]) != jupiterRoute {
		return failCustom(anchorFallbackNotFound)
	}
	if err := f.need(3); err != nil {
		return err
	}
	x.log("Program log: Instruction: Route")
	rest, accs := f.data[9:], f.accs[3:]
	for range f.data[8] {
		if len(rest) < 3 {
			return failCustom(anchorNotDeserialized)
		}
		n, size := 3+int(rest[0]), int(binary.LittleEndian.Uint16(rest[1:]))
		if len(rest) < 3+size || len(accs) < n {
			return failCustom(anchorNotDeserialized)
		}
		if err := x.hop(f, accs[:n], rest[3:3+size]); err != nil {
			return err
		}
		rest, accs = rest[3+size:], accs[n:]
	}
	return nil
}

// hop calls a venue, and emits SwapEvent (amm, mint and amount in, mint and amount out).
func (x *machine) hop(f *frame, accs []ref, data []byte) error {
	venue, from, to := x.key(accs[0]), accs[1], accs[2]
	if !IsTokenAccount(x.acc(from)) || !IsTokenAccount(x.acc(to)) {
		return failCustom(anchorConstraintRaw)
	}
	had, held := layout.Amount(x.acc(from).Data), layout.Amount(x.acc(to).Data)
	if err := x.call(f, venue, accs[3:], data); err != nil {
		return err
	}
	event := append(append([]byte(nil), anchorEventPrefix[:]...), jupiterSwapEvent[:]...)
	in, out := layout.MintOf(x.acc(from).Data), layout.MintOf(x.acc(to).Data)
	event = append(append(event, venue[:]...), in[:]...)
	event = append(layout.AppendU64(event, had-layout.Amount(x.acc(from).Data)), out[:]...)
	event = layout.AppendU64(event, layout.Amount(x.acc(to).Data)-held)
	return x.call(f, JupiterProgram, []ref{{idx: f.accs[1].idx, signer: true}}, event)
}

// planRoute plans a route of two hops: from a token to its quote token, and from that to another.
func planRoute(g *Generator, r *rand.Rand) *plan {
	pools := [2]*pool{}
	for range 12 {
		p := g.pools[zipf(r, len(g.pools))]
		switch {
		case p.table == nil || p.tokens[1-p.quote].mint == USDCMint:
			// Without tables the transaction would be too large.
		case pools[0] == nil:
			pools[0] = p
		case p != pools[0] && p.tokens[p.quote] == pools[0].tokens[pools[0].quote]:
			pools[1] = p
		}
	}
	if pools[1] == nil {
		return nil
	}
	p, q := pools[0], pools[1]
	from, through, to := p.tokens[1-p.quote], p.tokens[p.quote], q.tokens[1-q.quote]
	user, at, have := g.holder(r, from)
	if user == nil || g.lamports(user.Key) < lamportsPerSOL || !to.hold(at) || g.st.get(g.ata(user.Key, through)) == nil {
		return nil
	}
	amount := min(have/uint64(4+r.IntN(60)), g.reserves(p)[1-p.quote]/100)
	middle := p.dex.exactIn(g, p, 1-p.quote, amount)
	out := q.dex.exactIn(g, q, q.quote, middle)
	if amount < 2 || middle < 2 || out < 2 {
		return nil
	}
	var one, two [2]Key
	one[1-p.quote], one[p.quote] = g.ata(user.Key, from), g.ata(user.Key, through)
	two[1-q.quote], two[q.quote] = g.ata(user.Key, to), g.ata(user.Key, through)
	ixs, _ := g.openATA(budget(r, 250_000), user.Key, user.Key, to)
	ixs = append(ixs, ixRoute(user.Key,
		hop{p.dex.swap(g, user.Key, p, 1-p.quote, one, amount, middle-middle/100, true), one[1-p.quote], one[p.quote]},
		hop{q.dex.swap(g, user.Key, q, q.quote, two, middle, out-out/100, true), two[q.quote], two[1-q.quote]}))
	return &plan{payer: user, ixs: ixs, v0: true, tables: []*Table{p.table, q.table}}
}
