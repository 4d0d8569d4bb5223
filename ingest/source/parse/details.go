package parse

import (
	"errors"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/mintlake/mintlake/internal/solana/jsonwalk"
)

// details implements chain.Details over the unread text or message.
type details struct {
	// json says that the fields hold JSON arrays; else logs are fields of the message, and the
	// balances packed varints.
	json            bool
	logs, pre, post []byte
}

// maxLines bounds the log lines of one transaction. Nodes cut logs at 10 KB; one that is set up to
// keep all of them comes nowhere near.
const maxLines = 1 << 14

// Field numbers of TransactionStatusMeta.
const (
	fieldPreBalances  = 3
	fieldPostBalances = 4
	fieldLogMessages  = 6
)

// errStop ends a walk that found what it wanted, or too much.
var errStop = errors.New("stop")

// Logs implements chain.Details.
func (d *details) Logs(visit func(line []byte) bool) {
	if d.json {
		r := jsonwalk.New(d.logs)
		_ = r.Array(func(i int) error {
			line, err := r.String()
			if err == nil && (i >= maxLines || !visit(line)) {
				return errStop
			}
			return err
		})
		return
	}
	lines := 0
	for w := (walk{rest: d.logs}); w.next() && lines < maxLines; {
		if w.message(fieldLogMessages) {
			lines++
			if !visit(w.v) {
				return
			}
		}
	}
}

// Lamports implements chain.Details.
func (d *details) Lamports(pre, post []uint64) (before, after []uint64) {
	if d.json {
		return jsonNumbers(pre, d.pre), jsonNumbers(post, d.post)
	}
	return packedNumbers(pre, d.pre), packedNumbers(post, d.post)
}

func jsonNumbers(to []uint64, text []byte) []uint64 {
	r := jsonwalk.New(text)
	_ = r.Array(func(i int) error {
		n, err := r.Uint64()
		if err == nil && i < maxKeys {
			to = append(to, n)
		}
		return err
	})
	return to
}

func packedNumbers(to []uint64, data []byte) []uint64 {
	for i := 0; i < maxKeys && len(data) > 0; i++ {
		n, size := protowire.ConsumeVarint(data)
		if size < 0 {
			break
		}
		to, data = append(to, n), data[size:]
	}
	return to
}

// log notes that the current field, a log line, ends where w stands in data. The lines of one
// transaction lie side by side.
func (d *details) log(w *walk, data []byte) {
	end := len(data) - len(w.rest)
	start := end - 1 - protowire.SizeBytes(len(w.v))
	if d.logs != nil {
		start -= len(d.logs)
	}
	if start >= 0 {
		d.logs = data[start:end:end]
	}
}

// detailsOf keeps d.
func (b *builder) detailsOf(d details) *details {
	kept := &b.details.take(1)[0]
	*kept = d
	return kept
}
