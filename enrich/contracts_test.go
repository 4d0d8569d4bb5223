package enrich

import (
	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/logos/fetch"
	"github.com/mintlake/mintlake/solana"
)

// The real collaborators are what the room declares.
var (
	_ Consumer             = (*kafka.GroupConsumer)(nil)
	_ kafka.RecordProducer = (*kafka.Producer)(nil)
	_ RPC                  = (*solana.Client)(nil)
	_ Fetcher              = (*fetch.Fetcher)(nil)
)
