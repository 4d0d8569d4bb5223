package status

import (
	"context"
	"sync"
	"time"

	"github.com/mintlake/mintlake/internal/clickhouse/parts"
)

// Health reports whether a backend answers.
type Health struct {
	// OK is nil until the backend was asked.
	OK *bool `json:"ok"`
	// SinceMS is when OK last changed, in epoch milliseconds by this node's clock.
	SinceMS *int64 `json:"since_ms"`
	// Error says what does not work, for users; nil if all works.
	Error *string `json:"error"`
}

// ClickHouse is the Health of ClickHouse, with the damaged parts of its tables.
type ClickHouse struct {
	Health
	// DamagedParts has maxDamaged parts at most. It is nil if nobody has looked for them: on a node
	// that runs only the API, or before the first look.
	DamagedParts []DamagedPart `json:"damaged_parts"`
	// DamageCount is the number of all damaged parts.
	DamageCount *int `json:"damage_count"`
}

// DamagedPart is what users may see of a damaged part.
type DamagedPart struct {
	Table  string  `json:"table"`
	Part   string  `json:"part"`
	Damage string  `json:"damage"`
	Rows   *uint64 `json:"rows"`
}

// maxDamaged bounds the damaged parts in the document.
const maxDamaged = 100

// WithDamage adds the damage that look returns. look is nil if nobody looks for damage.
func (h Health) WithDamage(look func() ([]parts.Damage, bool)) *ClickHouse {
	all := &ClickHouse{Health: h}
	if look == nil {
		return all
	}
	damage, known := look()
	if !known {
		return all
	}
	count := len(damage)
	all.DamageCount, all.DamagedParts = &count, make([]DamagedPart, 0, min(count, maxDamaged))
	for _, d := range damage[:min(count, maxDamaged)] {
		all.DamagedParts = append(all.DamagedParts, DamagedPart{Table: d.Table, Part: d.Part, Damage: d.Kind, Rows: d.Rows})
	}
	return all
}

// see records a result. It replaces the pointers and never writes through them, because documents
// that were returned share them.
func (h *Health) see(now time.Time, ok bool, why *string) {
	if h.OK == nil || *h.OK != ok {
		ms := now.UnixMilli()
		h.OK, h.SinceMS = &ok, &ms
	}
	h.Error = why
}

// probeEvery is how old the result of a probe may be.
const probeEvery = 2 * time.Second

// probe has the last result of asking a backend. The backend is asked on demand, but not more often
// than each probeEvery.
type probe struct {
	asking sync.Mutex // held while the backend is asked

	mu     sync.Mutex
	health Health
	at     time.Time
}

// ClickHouse returns the Health of ClickHouse. ask is a query that it must answer. The result is at
// most probeEvery old or, while another call is asking, the result before that call.
func (c *Collector) ClickHouse(ctx context.Context, ask func(ctx context.Context) error) Health {
	p := &c.clickhouse
	if health, fresh := p.peek(c.now()); fresh || !p.asking.TryLock() {
		return health
	}
	defer p.asking.Unlock()
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	err := ask(ctx)
	p.mu.Lock()
	defer p.mu.Unlock()
	var why *string
	if err != nil {
		text := "clickhouse does not answer" // for users; the reason is only logged
		why = &text
		if p.health.OK == nil || *p.health.OK {
			c.logger.Warn("clickhouse does not answer", "err", err)
		}
	}
	p.health.see(c.now(), err == nil, why)
	p.at = c.now()
	return p.health
}

// peek returns the last result, and whether it is younger than probeEvery.
func (p *probe) peek(now time.Time) (Health, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.health, p.health.OK != nil && now.Sub(p.at) < probeEvery
}
