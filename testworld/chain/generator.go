package chain

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"

	"github.com/mintlake/mintlake/solana/txwire"
)

// SlotsPerEpoch is mainnet's.
const SlotsPerEpoch = 432_000

// Kind is what became of a slot.
type Kind uint8

// Live blocks make the ledger. Dead blocks were seen and then declared dead; Orphaned ones lost
// their fork silently, as on mainnet; Replaced ones too, to another block of their slot or of an
// earlier one. A Skipped slot never had a block.
const (
	Live Kind = iota
	Dead
	Orphaned
	Replaced
	Skipped
)

// Block is one produced block.
type Block struct {
	Slot, Parent uint64
	Height       uint64
	Hash         Hash
	ParentHash   Hash
	// Time is the block time in Unix seconds.
	Time   int64
	Leader Key
	Txs    []*Tx
}

// Slot is what Next yields; Block is nil for a skipped slot.
type Slot struct {
	Number uint64
	Kind   Kind
	Block  *Block
	// Again are live blocks of slots before, in their order, which come before this slot's: another
	// block of those slots was Dead or Replaced.
	Again []Slot
}

// Sign signs all blocks of the slot.
func (s *Slot) Sign() error {
	for i := range s.Again {
		if err := s.Again[i].Block.Sign(); err != nil {
			return err
		}
	}
	if s.Block == nil {
		return nil
	}
	return s.Block.Sign()
}

// plan is a transaction before compilation; done runs after it succeeded on the live chain.
type plan struct {
	payer   *Signer
	ixs     []Instruction
	signers []*Signer
	v0      bool
	tables  []*Table
	vote    bool
	done    func()
}

// held is a compiled transaction of a block that lost. It may be included in the next live block.
type held struct {
	msg  Message
	plan *plan
}

// Generator makes the chain, slot after slot. It is not safe for concurrent use.
type Generator struct {
	cfg        Config
	st         *state
	x          *machine
	wallets    []*Signer
	validators []*validator
	treasury   *Signer
	tokens     []*token
	// majors are the symbols of the mints of genesis; never changed after New.
	majors map[Key]string
	listed []Listed // of majors, never changed either
	pools  []*pool
	frozen []frozen
	// shortLived are pools that will be drained; shortLivedMade counts all that there were.
	shortLived     []*pool
	shortLivedMade int
	// whirlTable is the lookup table of transactions that make Whirlpools.
	whirlTable *Table
	launched   uint64 // mint keys used
	powered    int    // Token-2022 mints that might have had a power
	pending    int    // creations still owed from Config.Tokens
	next       uint64
	parent     uint64
	height     uint64
	hash       Hash
	owed       float64 // fraction of a transaction carried to the next slot
	replay     []held  // transactions of blocks that lost
	genesis    []Write
	banks
}

// New makes the chain at genesis.
func New(cfg Config) (*Generator, error) {
	cfg = cfg.WithDefaults()
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("chain config: %w", err)
	}
	g := &Generator{cfg: cfg, st: newState(), next: cfg.GenesisSlot, parent: cfg.ParentSlot, pending: cfg.Tokens}
	g.x = &machine{st: g.st, programs: newPrograms(), derived: newAddressCache()}
	g.hash = g.blockHash(cfg.ParentSlot, Hash{})
	g.height = cfg.ParentSlot - cfg.ParentSlot/20 // some slots of the past were skipped
	g.buildGenesis()
	return g, nil
}

// Config is the configuration with defaults filled in.
func (g *Generator) Config() Config { return g.cfg }

// Genesis lists the accounts that exist before the first block, in a fixed order.
func (g *Generator) Genesis() []Write { return g.genesis }

// Major is the symbol that a mint has at genesis; empty for one that does not exist then. Safe for
// concurrent use.
func (g *Generator) Major(mint Key) string { return g.majors[mint] }

// NextSlot is the slot that the next call of Next makes.
func (g *Generator) NextSlot() uint64 { return g.next }

// Accounts is how many accounts there are.
func (g *Generator) Accounts() int { return len(g.st.accounts) }

// GenesisHash identifies the chain.
func (g *Generator) GenesisHash() Hash { return g.blockHash(0, Hash{}) }

func (g *Generator) blockHash(slot uint64, parent Hash) Hash {
	b := append([]byte("mintlake demo block"), parent[:]...)
	b = binary.LittleEndian.AppendUint64(b, g.cfg.Seed)
	b = binary.LittleEndian.AppendUint64(b, slot)
	return sha256.Sum256(b)
}

// rng is the randomness of one slot: a function of seed and slot only.
func (g *Generator) rng(slot uint64) *rand.Rand {
	return rand.New(rand.NewPCG(g.cfg.Seed^0x6d696e746c616b65, slot)) //nolint:gosec // a simulation wants reproducible numbers
}

// BlockTime is the Unix time in seconds of a slot.
func (g *Generator) BlockTime(slot uint64) int64 { return g.cfg.TimeMS(slot) / 1000 }

// Next makes the next slot. The submitted transactions, which must be signed, come first in its
// first live block; taken is their number, and 0 if there is no such block. One whose payer cannot
// pay is taken, but dropped. The blocks' own transactions are unsigned until Sign.
func (g *Generator) Next(submitted []*Tx) (s Slot, taken int) {
	slot := g.next
	g.next++
	if g.lose(slot); len(g.losing) > 0 {
		s, g.losing = g.losing[0], g.losing[1:]
		return s, 0
	}
	s = Slot{Number: slot}
	live := func(n uint64, r *rand.Rand) Slot {
		out := Slot{Number: n, Kind: Live, Block: g.live(n, r, submitted[taken:])}
		taken = len(submitted)
		return out
	}
	for i, n := range g.redo {
		// The block that won may have fewer successors than the one that lost.
		if r := g.rng(n); i == 0 || r.IntN(4) > 0 {
			s.Again = append(s.Again, live(n, r))
		}
	}
	g.redo = g.redo[:0]
	r := g.rng(slot)
	switch s.Kind = g.kind(r, slot); s.Kind {
	case Skipped:
	case Live:
		s.Block = live(slot, r).Block
	case Dead, Orphaned, Replaced:
		s.Block = g.enter(slot, g.parent, g.height, g.hash)
		g.st.begin()
		g.fill(s.Block, r, g.count(r)/2+1, true)
		g.st.rollback()
	}
	return s, taken
}

// enter makes an empty block of a slot on a parent, and lets the machine run in it.
func (g *Generator) enter(slot, parent, height uint64, on Hash) *Block {
	b := &Block{Slot: slot, Parent: parent, Height: height + 1, ParentHash: on, Hash: g.blockHash(slot, on),
		Time: g.BlockTime(slot), Leader: g.validators[slot/4%uint64(len(g.validators))].identity.Key}
	g.x.slot, g.x.now, g.x.epoch = slot, b.Time, slot/SlotsPerEpoch
	return b
}

// live makes the block of a slot that the chain goes on with.
func (g *Generator) live(slot uint64, r *rand.Rand, submitted []*Tx) *Block {
	b := g.enter(slot, g.parent, g.height, g.hash)
	for _, tx := range submitted {
		if g.x.execute(tx) == nil {
			b.Txs = append(b.Txs, tx)
		}
	}
	if g.inPast(slot) {
		g.drift(slot)
		g.fill(b, r, pastTransactions, false)
	} else {
		g.fill(b, r, g.count(r), false)
	}
	g.parent, g.height, g.hash = slot, b.Height, b.Hash
	return b
}

// kind draws what becomes of a slot. Those of the past and the next two are live, so that there is
// a chain.
func (g *Generator) kind(r *rand.Rand, slot uint64) Kind {
	p, q := r.Float64(), r.Float64()
	if slot < g.cfg.Live()+2 {
		return Live
	}
	switch {
	case p < g.cfg.SkipRate:
		return Skipped
	case p < g.cfg.SkipRate+g.cfg.ForkRate:
		if q < 0.7 {
			return Dead
		}
		return Orphaned
	}
	return Live
}

// count draws how many transactions a slot has; the mean is that of Config.TPS.
func (g *Generator) count(r *rand.Rand) int {
	g.owed += float64(g.cfg.TPS) * g.cfg.SlotTime.Seconds() * (0.7 + 0.6*r.Float64())
	n := int(g.owed)
	g.owed -= float64(n)
	return n
}

// fill plans and executes n transactions. On a fork it holds them. On the live chain it first
// includes most of those that were held, and makes some of the creations that are still owed.
func (g *Generator) fill(b *Block, r *rand.Rand, n int, fork bool) {
	if !fork {
		for _, h := range g.replay {
			if r.IntN(10) < 7 {
				g.include(b, &Tx{Message: h.msg, sign: h.plan.signers, Vote: h.plan.vote}, h.plan, false)
			}
		}
		g.replay = g.replay[:0]
		burst := min(g.pending, max(200, n))
		if g.inPast(b.Slot) {
			burst = min(g.pending, pastCreations)
			n -= burst
		}
		g.pending -= burst
		for range burst {
			g.run(b, r, g.planCreation(r), fork)
		}
	}
	for range n {
		g.run(b, r, g.plan(r), fork)
	}
}

// run compiles a plan and puts its transaction into the block; nothing for no plan.
func (g *Generator) run(b *Block, r *rand.Rand, p *plan, fork bool) {
	if p == nil {
		return
	}
	p.signers = append(p.signers, p.payer)
	var msg Message
	var err error
	switch v1 := r.IntN(100) < g.cfg.V1; {
	case v1 && p.fits():
		msg, err = p.compileV1(r, b.ParentHash)
	case p.v0:
		msg, err = compile(p.payer.Key, p.ixs, txwire.V0, p.tables, b.ParentHash)
	default:
		msg, err = compile(p.payer.Key, p.ixs, txwire.Legacy, nil, b.ParentHash)
	}
	if err != nil {
		// a bug in an actor, found by every test
		panic(fmt.Sprintf("chain: a planned transaction does not compile: %v", err))
	}
	tx := &Tx{Message: msg, sign: p.signers, Vote: p.vote}
	g.include(b, tx, p, fork)
}

// include executes a transaction and puts it into the block. On a fork it does not call p.done. It
// keeps the transaction in g.replay, to be run again on the live chain, if the live chain has its
// blockhash too.
func (g *Generator) include(b *Block, tx *Tx, p *plan, fork bool) {
	if g.x.execute(tx) != nil {
		return // the payer cannot pay: a node drops such a transaction
	}
	b.Txs = append(b.Txs, tx)
	if fork && b.ParentHash != g.hash {
		return
	}
	if fork {
		g.replay = append(g.replay, held{msg: tx.Message, plan: p})
		return
	}
	if tx.Meta.Err == nil && p.done != nil {
		p.done()
	}
}

// Sign fills the signatures of the block's own transactions, on all cores.
func (b *Block) Sign() error {
	workers := min(runtime.GOMAXPROCS(0), len(b.Txs)/16+1)
	errs := make([]error, workers)
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for i := w; i < len(b.Txs); i += workers {
				if err := b.Txs[i].signAll(); err != nil {
					errs[w] = err
				}
			}
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
