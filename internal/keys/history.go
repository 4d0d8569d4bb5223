package keys

import (
	"context"
	"time"

	"github.com/mintlake/mintlake/schemas"
)

// Change is one line of the log of changes: who did what, and when.
type Change struct {
	At      time.Time
	By      string
	Product Product
	Name    string
	Version uint64
	// What is created, restricted, rotated or revoked.
	What string
	// Void says that the change changed nothing, as another one came first.
	Void bool
	// Rules that the change set; nil for rotated and revoked.
	Rules *Rules
	// Prefix of the secret that the change made, and when the earlier ones end; empty and zero for
	// others.
	Prefix    string
	GraceEnds time.Time
	Reason    string
}

// History reads the log of changes anew from the topic and calls visit for each change of the
// products and names that want accepts, in order. It is not kept in memory: it is read seldom, and
// a node needs only what keys are now.
func (l *Live) History(ctx context.Context, want func(product Product, name string) bool, visit func(Change)) error {
	ends, err := l.deps.Offsets.EndOffsets(ctx, topics)
	if err != nil {
		return err
	}
	if covers(nil, ends) {
		return nil
	}
	tailer, err := l.deps.OpenTail([]string{schemas.TopicGatewayKeys}, nil)
	if err != nil {
		return err
	}
	defer tailer.Close()
	fold := newFold()
	for !covers(tailer.Positions(), ends) {
		records, err := fetch(ctx, tailer)
		if err != nil {
			return err
		}
		for i := range records {
			change, err := parseChange(records[i].Value)
			if err != nil {
				continue // take has said so
			}
			line := Change{
				At: time.UnixMilli(change.GetChangedAtMs()), By: change.GetChangedBy(), Product: Product(change.GetProduct()), Name: change.GetName(),
				Version: change.GetVersion(), What: kindOf(change), Void: fold.apply(change) != nil,
				Prefix: change.GetCreated().GetPrefix() + change.GetRotated().GetPrefix(), Reason: change.GetRevoked().GetReason(),
			}
			if !want(line.Product, line.Name) {
				continue
			}
			rules := change.GetCreated().GetRules()
			if rules == nil {
				rules = change.GetRestricted().GetRules()
			}
			if rules != nil {
				r := rulesOf(rules)
				line.Rules = &r
			}
			if ms := change.GetRotated().GetGraceEndsMs(); ms != 0 {
				line.GraceEnds = time.UnixMilli(ms)
			}
			visit(line)
		}
	}
	return nil
}
