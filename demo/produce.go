package demo

import (
	"context"
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/mintlake/mintlake/internal/counters"
	"github.com/mintlake/mintlake/internal/pause"
	"github.com/mintlake/mintlake/testworld/chain"
)

type metrics struct {
	slots        *prometheus.CounterVec
	transactions prometheus.Counter
	slot         prometheus.Gauge
	behind       prometheus.Gauge
}

func newMetrics(r prometheus.Registerer) (*metrics, error) {
	m := &metrics{
		slots:        prometheus.NewCounterVec(prometheus.CounterOpts{Name: "mintlake_demo_slots_total", Help: "Slots made, by what became of them."}, []string{"kind"}),
		transactions: prometheus.NewCounter(prometheus.CounterOpts{Name: "mintlake_demo_transactions_total", Help: "Transactions in live blocks."}),
		slot:         prometheus.NewGauge(prometheus.GaugeOpts{Name: "mintlake_demo_slot", Help: "Newest slot made."}),
		behind:       prometheus.NewGauge(prometheus.GaugeOpts{Name: "mintlake_demo_behind_seconds", Help: "How far block production lags behind its clock."}),
	}
	for _, kind := range []chain.Kind{chain.Live, chain.Dead, chain.Orphaned, chain.Replaced, chain.Skipped} {
		m.slots.WithLabelValues(kindName(kind))
	}
	return m, counters.Register(r, m.slots, m.transactions, m.slot, m.behind)
}

func kindName(k chain.Kind) string {
	switch k {
	case chain.Live:
		return "live"
	case chain.Dead:
		return "dead"
	case chain.Orphaned:
		return "orphaned"
	case chain.Replaced:
		return "replaced"
	case chain.Skipped:
		return "skipped"
	}
	return "unknown"
}

// produce makes slots, on the clock or as fast as it can, until ctx ends. After maxSlots it settles
// the ledger and waits for ctx. With Config.Manual it makes none.
func (n *Node) produce(ctx context.Context) error {
	if n.cfg.Manual {
		<-ctx.Done()
		return ctx.Err()
	}
	start := time.Now()
	slotTime := n.gen.Config().SlotTime
	for made := uint64(0); n.cfg.maxSlots == 0 || made < n.cfg.maxSlots; made++ {
		if n.cfg.RealTime {
			due := start.Add(time.Duration(made) * slotTime)
			if err := pause.For(ctx, time.Until(due)); err != nil {
				return err
			}
			n.metrics.behind.Set(max(0, time.Since(due).Seconds()))
		} else if ctx.Err() != nil {
			return ctx.Err()
		}
		if err := n.step(); err != nil {
			return err
		}
		if err := n.certify(ctx, made, start.Add(time.Duration(made)*slotTime)); err != nil {
			return err
		}
	}
	n.ledger.Settle()
	close(n.done)
	<-ctx.Done()
	return ctx.Err()
}

// certified is how long after its block a slot is final (about 150 ms on mainnet since Alpenglow).
const certified = 150 * time.Millisecond

// certify waits until the newest slot is final, mostly before the next one begins. One in eight
// takes longer: it is final with a later one.
func (n *Node) certify(ctx context.Context, made uint64, due time.Time) error {
	if !n.cfg.RealTime || n.cfg.Votes || made%8 == 7 {
		return nil
	}
	after := min(certified, n.gen.Config().SlotTime*3/4)
	if err := pause.For(ctx, time.Until(due.Add(after))); err != nil {
		return err
	}
	n.ledger.Certify(n.ledger.Last())
	return nil
}

// Step makes count slots at once. It fails unless Config.Manual is set. Call it after WaitReady.
func (n *Node) Step(count int) error {
	if !n.cfg.Manual {
		return errors.New("step: the node makes slots by itself (Config.Manual is off)")
	}
	for range count {
		if err := n.step(); err != nil {
			return err
		}
	}
	return nil
}

// step makes one slot and hands it to the ledger. The queued transactions that the slot took leave
// the queue.
func (n *Node) step() error {
	n.mu.Lock()
	s, taken := n.gen.Next(n.queue)
	if taken > 0 {
		n.queue = append([]*chain.Tx(nil), n.queue[taken:]...)
		clear(n.queued)
		for _, tx := range n.queue {
			n.queued[tx.Signatures[0]] = struct{}{}
		}
	}
	n.mu.Unlock()
	if err := s.Sign(); err != nil {
		return err
	}
	n.ledger.Add(s)
	n.mu.Lock()
	n.offerCheckpoint()
	n.mu.Unlock()
	n.metrics.slot.Set(float64(s.Number))
	for _, one := range append(s.Again, s) {
		n.metrics.slots.WithLabelValues(kindName(one.Kind)).Inc()
		if one.Kind == chain.Live {
			n.metrics.transactions.Add(float64(len(one.Block.Txs)))
		}
	}
	return nil
}

// Submit queues a signed transaction for the next live block; the same signature is queued once.
func (n *Node) Submit(tx *chain.Tx) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if _, dup := n.queued[tx.Signatures[0]]; dup {
		return nil
	}
	if len(n.queue) >= maxQueue {
		return errors.New("transaction queue is full, try again later")
	}
	n.queued[tx.Signatures[0]] = struct{}{}
	n.queue = append(n.queue, tx)
	return nil
}

// Airdrop returns a signed transfer from the treasury, to be submitted.
func (n *Node) Airdrop(to chain.Key, lamports uint64) (*chain.Tx, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.airdrops++
	return n.gen.Airdrop(to, lamports, n.airdrops)
}

// Simulate executes a transaction at the tip without keeping its effects.
func (n *Node) Simulate(tx *chain.Tx) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.gen.Simulate(tx)
}
