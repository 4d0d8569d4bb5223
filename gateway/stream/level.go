package stream

import "errors"

// level says when a filter gets transactions, and when a watch is told of slots.
type level uint8

const (
	// levelLog is the level of transactions that come as soon as the log has them. Their commitment
	// is Config.Commitment.
	levelLog level = iota
	// levelFinal is the level of transactions that come when their slot is finalized, on a stream
	// whose Config.Commitment is lower.
	levelFinal
	// levelProcessed is the level of transactions that come when the node of Config.Processed has
	// executed them. They do not come from the log.
	levelProcessed

	levels = iota // how many there are
)

// errProcessed refuses the commitment processed on a stream without Config.Processed.
var errProcessed = errors.New("commitment: processed is not served: this stream begins at confirmed, as ingest reads no block that may still lose its fork; its operator can add it (stream.processed)")

// errLiveOnly refuses a replay at the commitment processed.
var errLiveOnly = errors.New("from_slot: what is processed comes live only, as the log begins at confirmed; leave from_slot out, or ask for confirmed or finalized")

// errNotFinal refuses finalized while no finalized slot is known.
var errNotFinal = errors.New("commitment: the source has not told of any finalized slot")

// errVotes refuses filters for votes.
var errVotes = errors.New("vote: true is not served: this stream has no votes, as ingest asks its source for none")

// commitments are the names of the commitments, in ascending order.
var commitments = []string{"processed", "confirmed", "finalized"}

func commitmentRank(name string) (int, bool) {
	for i, c := range commitments {
		if c == name {
			return i, true
		}
	}
	return 0, false
}

// levelOf returns the level at which a request for a commitment is served.
func (s *Server) levelOf(commitment string) (level, error) {
	rank, ok := commitmentRank(commitment)
	switch {
	case !ok:
		return levelLog, errors.New("commitment must be processed, confirmed or finalized")
	case rank == 0 && s.processed == nil:
		return levelLog, errProcessed
	case rank == 0:
		return levelProcessed, nil
	case rank <= s.rank:
		return levelLog, nil
	case s.recent.root() == 0:
		return levelLog, errNotFinal
	}
	return levelFinal, nil
}
