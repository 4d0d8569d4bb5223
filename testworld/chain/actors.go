package chain

import (
	"encoding/binary"
	"math/rand/v2"

	"github.com/mintlake/mintlake/testworld/layout"
)

// actor plans one transaction; nil means that it found nothing to do.
type actor struct {
	weight int
	plan   func(g *Generator, r *rand.Rand) *plan
}

// mix is what the transactions of a slot are without votes, in parts of 1000 less votesOf1000.
var mix = []actor{
	{490, planSwap},
	{20, planRoute},
	{10, planPool},
	{120, planTokenTransfer},
	{10, planOddity},
	{68, planSOLTransfer},
	{2, planGraduation},
	{45, (*Generator).planCreation},
	{45, planSupply},
	{15, planAuthority},
	{15, planMetadataUpdate},
	{5, planFees},
	{15, planBatch},
	{80, planFailure},
}

// votesOf1000 is how many transactions of a thousand are votes, on a chain that has them.
const votesOf1000 = 60

// plan lets a random actor of the mix plan a transaction. If that finds nothing to do, SOL is
// transferred.
func (g *Generator) plan(r *rand.Rand) *plan {
	n := r.IntN(1000)
	if n >= 1000-votesOf1000 {
		if g.cfg.Votes {
			return planVote(g, r)
		}
		n = r.IntN(1000 - votesOf1000)
	}
	for _, a := range mix {
		if n < a.weight {
			if p := a.plan(g, r); p != nil {
				return p
			}
			break
		}
		n -= a.weight
	}
	return planSOLTransfer(g, r)
}

func (g *Generator) wallet(r *rand.Rand) (*Signer, uint32) {
	i := r.IntN(len(g.wallets))
	return g.wallets[i], uint32(i)
}

func (g *Generator) lamports(k Key) uint64 {
	if a := g.st.get(k); a != nil {
		return a.Lamports
	}
	return 0
}

// balance returns what a token account holds; 0 if there is none or it is frozen.
func (g *Generator) balance(account Key) uint64 {
	if a := g.st.get(account); a != nil && layout.IsTokenAccount(a.Data) && a.Data[layout.AccountStateAt] == layout.StateInitialized {
		return layout.Amount(a.Data)
	}
	return 0
}

// keepsUnwrapped returns whether a wallet holds SOL only unwrapped: one in four does.
func keepsUnwrapped(wallet uint32) bool { return wallet%4 == 3 }

// zipf picks an index below n, the low ones most often.
func zipf(r *rand.Rand, n int) int {
	if n <= 1 {
		return 0
	}
	return int(rand.NewZipf(r, 1.15, 2, uint64(n-1)).Uint64())
}

// holder returns a wallet that holds some of t, its number and how much it holds. It tries a few
// wallets and returns nil if none of them holds any.
func (g *Generator) holder(r *rand.Rand, t *token) (*Signer, uint32, uint64) {
	for range min(6, len(t.holders)) {
		w := pick(r, t.holders)
		if b := g.balance(g.ata(g.wallets[w].Key, t)); b > 0 {
			return g.wallets[w], w, b
		}
	}
	return nil, 0, 0
}

// budget is the compute budget part of most transactions.
func budget(r *rand.Rand, units uint32) []Instruction {
	if r.IntN(10) < 3 {
		return nil
	}
	out := []Instruction{ixComputeLimit(units + uint32(r.IntN(5000)))}
	if r.IntN(10) < 8 {
		out = append(out, ixComputePrice(uint64(1+r.IntN(200))*1000))
	}
	return out
}

// planSOLTransfer plans a transfer of SOL between wallets. A wallet that runs low gets SOL from the
// treasury instead.
func planSOLTransfer(g *Generator, r *rand.Rand) *plan {
	from, _ := g.wallet(r)
	to, _ := g.wallet(r)
	if have := g.lamports(from.Key); have < 10*lamportsPerSOL {
		to, from = from, g.treasury
	}
	ixs := append(budget(r, 20_000), ixTransferSOL(from.Key, to.Key, 1_000_000+r.Uint64N(5*lamportsPerSOL)))
	if r.IntN(12) == 0 {
		ixs = append(ixs, ixMemo(pick(r, nameMemes)))
	}
	return &plan{payer: from, ixs: ixs, v0: r.IntN(2) == 0}
}

// openATA adds an idempotent creation of owner's token account if that does not exist yet.
func (g *Generator) openATA(ixs []Instruction, payer, owner Key, t *token) ([]Instruction, Key) {
	k := g.ata(owner, t)
	if g.st.get(k) == nil {
		ixs = append(ixs, ixCreateATA(payer, k, owner, t.mint, t.program, true))
	}
	return ixs, k
}

// planTokenTransfer plans a transfer from a holder to another wallet, whose account it opens if
// need be.
func planTokenTransfer(g *Generator, r *rand.Rand) *plan {
	t := g.tokens[zipf(r, len(g.tokens))]
	from, _, have := g.holder(r, t)
	to, toIdx := g.wallet(r)
	if t.still || from == nil || from == to || g.lamports(from.Key) < lamportsPerSOL {
		return nil
	}
	if t.mint == NativeMint && keepsUnwrapped(toIdx) {
		return nil
	}
	if g.st.get(g.ata(to.Key, t)) == nil && !t.hold(toIdx) {
		to = g.wallets[pick(r, t.holders)]
	}
	ixs, dst := g.openATA(budget(r, 60_000), from.Key, to.Key, t)
	src, amount := g.ata(from.Key, t), 1+have/uint64(20+r.IntN(400))
	amount = min(amount, have)
	switch {
	case t.feeBPS > 0 && r.IntN(2) == 0:
		fee := TransferFee(g.st.get(t.mint).Data, g.x.epoch, amount)
		if r.IntN(10) == 0 {
			fee++ // refused: the fee must be stated exactly
		}
		ixs = append(ixs, ixTransferWithFee(src, t.mint, dst, from.Key, amount, t.decimals, fee))
	case r.IntN(3) > 0 || t.program == Token2022Program:
		ixs = append(ixs, ixTransferChecked(t.program, src, t.mint, dst, from.Key, amount, t.decimals))
	default:
		ixs = append(ixs, ixTransfer(t.program, src, dst, from.Key, amount))
	}
	return &plan{payer: from, ixs: ixs, v0: r.IntN(2) == 0}
}

// planBatch plans a p-token Batch: up to four transfers, a burn and, if the token has a mint
// authority, a mint.
func planBatch(g *Generator, r *rand.Rand) *plan {
	t := g.tokens[zipf(r, len(g.tokens))]
	if t.program != TokenProgram || t.mint == NativeMint {
		return nil
	}
	from, _, have := g.holder(r, t)
	if from == nil || have < 1000 || g.lamports(from.Key) < lamportsPerSOL {
		return nil
	}
	src := g.ata(from.Key, t)
	var subs []Instruction
	for range 2 + r.IntN(3) {
		dst := g.ata(g.wallets[pick(r, t.holders)].Key, t)
		if a := g.st.get(dst); a == nil || dst == src || !layout.IsTokenAccount(a.Data) || a.Data[layout.AccountStateAt] != layout.StateInitialized {
			continue
		}
		subs = append(subs, ixTransferChecked(TokenProgram, src, t.mint, dst, from.Key, have/1000, t.decimals))
	}
	subs = append(subs, ixBurnChecked(TokenProgram, src, t.mint, from.Key, 1+have/5000, t.decimals))
	signers := []*Signer{}
	if t.mintAuth != nil {
		subs = append(subs, ixMintToChecked(TokenProgram, t.mint, src, t.mintAuth.Key, 1+have/4000, t.decimals))
		signers = append(signers, t.mintAuth)
	}
	return &plan{payer: from, ixs: append(budget(r, 30_000), ixBatch(subs...)), signers: signers}
}

// planVote is a TowerSync vote (vote program instruction 14): root, lockouts as offsets, bank hash,
// timestamp, block id.
func planVote(g *Generator, r *rand.Rand) *plan {
	v := pick(r, g.validators)
	const lockouts = 31 // of a full tower
	root := g.parent - lockouts
	d := binary.LittleEndian.AppendUint64([]byte{14, 0, 0, 0}, root)
	d = append(d, lockouts)
	for i := range lockouts {
		d = append(d, 1, byte(lockouts-i))
	}
	d = append(d, g.hash[:]...)
	d = binary.LittleEndian.AppendUint64(append(d, 1), uint64(g.x.now))
	d = append(d, g.hash[:]...)
	ix := Instruction{Program: VoteProgram, Data: d, Accounts: []AccountMeta{writable(v.vote.Key), signer(v.identity.Key)}}
	return &plan{payer: v.identity, ixs: []Instruction{ix}, vote: true}
}
