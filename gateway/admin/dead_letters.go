package admin

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/mintlake/mintlake/internal/deadletter"
	"github.com/mintlake/mintlake/internal/httpjson"
)

// DeadLetters lists and replays dead letters: *deadletter.Store.
type DeadLetters interface {
	List(ctx context.Context, last int64) ([]deadletter.Letter, error)
	Replay(ctx context.Context, partition int, offset int64) (*deadletter.Letter, error)
}

// DeadLetterAnswer is one dead letter. Its texts are untrusted.
type DeadLetterAnswer struct {
	At        time.Time `json:"at"`
	Partition int       `json:"partition"`
	Offset    int64     `json:"offset"`
	// Source is the room that could not process the record, and Reason is why.
	Source string `json:"source"`
	Reason string `json:"reason"`
	// Record is the record's place in Kafka; absent for an input that was no record.
	Record *RecordPlace `json:"record,omitempty"`
	// Key is the record's key, or the name of an input that was no record, at most 1,024 bytes.
	Key        string `json:"key"`
	ValueBytes uint64 `json:"value_bytes"`
}

// RecordPlace is the place of a record in Kafka.
type RecordPlace struct {
	Topic     string `json:"topic"`
	Partition int32  `json:"partition"`
	Offset    int64  `json:"offset"`
}

func deadLetterOf(l *deadletter.Letter) DeadLetterAnswer {
	a := DeadLetterAnswer{At: l.At.UTC(), Partition: l.Partition, Offset: l.Offset, Source: l.GetSource(), Reason: l.GetReason(),
		Key: strings.ToValidUTF8(string(l.GetKey()), "�"), ValueBytes: l.GetValueBytes()}
	if l.Err != nil {
		a.Reason = "this record is no dead letter: " + l.Err.Error()
	}
	if l.GetTopic() != "" && l.GetOffset() >= 0 {
		a.Record = &RecordPlace{l.GetTopic(), l.GetPartition(), l.GetOffset()}
	}
	return a
}

// maxDeadLetters bounds the dead letters of each partition in an answer.
const maxDeadLetters = 500

// deadLetters serves GET /v1/dead-letters?limit=: of each partition the latest ones, the oldest of
// them first.
func (s *Server) deadLetters(w http.ResponseWriter, r *http.Request) error {
	limit, err := limitOf(r, maxDeadLetters)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(r.Context(), historyPatience)
	defer cancel()
	letters, err := s.deps.DeadLetters.List(ctx, int64(limit))
	if err != nil {
		s.deps.Logger.Warn("dead letters cannot be read", "err", err)
		return &publicError{http.StatusServiceUnavailable, "dead letters cannot be read now: Kafka does not answer"}
	}
	answers := make([]DeadLetterAnswer, len(letters))
	for i := range letters {
		answers[i] = deadLetterOf(&letters[i])
	}
	httpjson.Write(w, http.StatusOK, map[string]any{"dead_letters": answers})
	return nil
}

// replay serves POST /v1/dead-letters/{partition}/{offset}/replay: it writes the record of that
// dead letter to its topic again.
func (s *Server) replay(w http.ResponseWriter, r *http.Request) error {
	partition, err := strconv.ParseUint(r.PathValue("partition"), 10, 31)
	if err != nil {
		return invalid("the partition must be a number")
	}
	offset, err := strconv.ParseUint(r.PathValue("offset"), 10, 63)
	if err != nil {
		return invalid("the offset must be a number")
	}
	if err := readBody(w, r, &struct{}{}); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(r.Context(), historyPatience)
	defer cancel()
	letter, err := s.deps.DeadLetters.Replay(ctx, int(partition), int64(offset))
	switch {
	case errors.Is(err, deadletter.ErrNoLetter):
		return &publicError{http.StatusNotFound, err.Error()}
	case errors.Is(err, deadletter.ErrGone), errors.Is(err, deadletter.ErrNoRecord), errors.Is(err, deadletter.ErrOther):
		return &publicError{http.StatusGone, err.Error()}
	case err != nil:
		s.deps.Logger.Warn("a dead letter cannot be replayed", "err", err)
		return &publicError{http.StatusServiceUnavailable, "Kafka did not answer in time; whether the record was written again is unknown, and a second time does no harm"}
	}
	s.deps.Logger.Info("dead letter replayed", "partition", partition, "offset", offset, "topic", letter.GetTopic(), "by", actorOf(r))
	httpjson.Write(w, http.StatusOK, deadLetterOf(letter))
	return nil
}
