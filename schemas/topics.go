package schemas

import (
	"strconv"
	"time"
)

// Topic names. The number at the end is the major version of the topic's schema. A change that old
// readers could not read gets a topic with the next number.
const (
	TopicTokenEvents        = "chain.token-events.v1"
	TopicSwaps              = "chain.swaps.v1"
	TopicPools              = "chain.pools.v1"
	TopicBalances           = "chain.balances.v1"
	TopicTransfers          = "chain.transfers.v1"
	TopicBalanceBases       = "chain.balance-bases.v1"
	TopicSlots              = "chain.slots.v1"
	TopicIdentity           = "chain.identity.v1"
	TopicTransactions       = "chain.transactions.v2"
	TopicEnrichmentRequests = "registry.enrichment-requests.v1"
	TopicEnrichments        = "registry.enrichments.v1"
	TopicDeadLetters        = "registry.dead-letters.v1"
	TopicUnknowns           = "registry.unknowns.v1"
	TopicGatewayKeys        = "gateway.keys.v1"
	TopicGatewayUsage       = "gateway.usage.v1"
)

// Consumer groups.
const (
	GroupProjector = "mintlake-projector"
	GroupEnrich    = "mintlake-enrich"
	// GroupSwaps writes swaps and pools into ClickHouse.
	GroupSwaps = "mintlake-swaps"
	// GroupBalances writes balances and transfers into ClickHouse.
	GroupBalances = "mintlake-balances"
	// GroupUsage writes the usage of API keys into ClickHouse.
	GroupUsage = "mintlake-usage"
	// GroupRereads reads token events to find mints whose accounts must be read again. Nothing
	// depends on it, so it does not count in the pipeline's lag.
	GroupRereads = "mintlake-rereads"
	// GroupIngest elects the ingest process that writes: the member that is assigned the partition
	// of TopicSlots. The group reads nothing and commits nothing.
	GroupIngest = "mintlake-ingest"
)

// Record headers.
const (
	// HeaderType is the payload's kind, e.g. "token_event.mint_to" or "slot".
	HeaderType = "type"
	// HeaderSchemaVersion is SchemaVersion of the writer.
	HeaderSchemaVersion = "schema-version"
	// HeaderPosition is the position as 32 hexadecimal digits, if the record has one.
	HeaderPosition = "position"
	// HeaderReceivedAt is when the fact reached Mintlake, in Unix milliseconds. It only serves to
	// measure freshness.
	HeaderReceivedAt = "received-at"

	// HeaderTables names the tables that a record of TopicBalanceBases was read from. A writer of
	// the same tables skips the record, because it has nothing new for them.
	HeaderTables = "tables"

	// HeaderTip is the highest slot of the topic so far, in decimal. Only records of
	// TopicTransactions whose own slot is lower have the header. So the number of TipOf never falls
	// along the topic, and readers find a slot by binary search.
	HeaderTip = "tip"

	// SchemaVersion is the minor version of all topics' records. It grows when fields are added.
	SchemaVersion = "1"
)

// Values of HeaderType, besides those that name the kind of an event or an enrichment, such as
// "token_event.mint_to".
const (
	TypeSlot         = "slot"
	TypeDeadLetter   = "dead_letter"
	TypeSourceStatus = "source_status"
	// TypeChainIdentity is a ChainIdentity on TopicIdentity.
	TypeChainIdentity = "chain_identity"
	// TypeValidatorSnapshot is a ValidatorSnapshot on TopicIdentity.
	TypeValidatorSnapshot = "validator_snapshot"
	// TypeDocumentWalk is a DocumentWalk on TopicIdentity.
	TypeDocumentWalk = "document_walk"
	// TypeSwapLegIn is a leg under the key of the mint that came into the pool. Each leg has
	// exactly one such record, so a reader that counts legs reads only these.
	TypeSwapLegIn = "swap_leg.in"
	// TypeSwapLegOut is the same leg under the key of the mint that went out of the pool, for
	// readers that group by mint.
	TypeSwapLegOut = "swap_leg.out"
	// TypeRoute is an aggregator's Route on TopicSwaps. It never counts as volume.
	TypeRoute = "route"
	// TypeLiquidity is a LiquidityChange on TopicSwaps.
	TypeLiquidity = "liquidity"
	// TypePool is a Pool on TopicPools.
	TypePool = "pool"
	// TypeBalances is a BalanceChanges on TopicBalances.
	TypeBalances = "balances"
	// TypeBalanceBase is a BalanceBase on TopicBalanceBases.
	TypeBalanceBase = "balance_base"
	// TypeTransfers is a Transfers on TopicTransfers.
	TypeTransfers = "transfers"
	// TypeTransaction is a geyser.SubscribeUpdateTransaction on TopicTransactions.
	TypeTransaction = "transaction"
	// TypeStreamBlock is a StreamBlock on TopicTransactions.
	TypeStreamBlock = "stream_block"
	// TypeStreamStatus is a StreamStatus on TopicTransactions.
	TypeStreamStatus = "stream_status"
	// TypeUnknown is an Unknown on TopicUnknowns.
	TypeUnknown = "unknown"
	// TypeKeyChange is a KeyChange on TopicGatewayKeys.
	TypeKeyChange = "key_change"
	// TypeUsage is a Usage on TopicGatewayUsage.
	TypeUsage = "usage"
)

// SourceStatusKey is the record key of SourceStatus on TopicSlots.
const SourceStatusKey = "source"

// ChainIdentityKey is the record key of ChainIdentity.
const ChainIdentityKey = "chain"

// ValidatorSnapshotKey is the record key of ValidatorSnapshot.
const ValidatorSnapshotKey = "validator-snapshot"

// DocumentWalkKey is the record key of DocumentWalk.
const DocumentWalkKey = "document-walk"

// Topic describes one Kafka topic.
type Topic struct {
	Name string
	// Partitions is the number of partitions on a single machine. A cluster may configure more
	// before the first start.
	Partitions int
	// Retention is for how long Kafka keeps a record; 0 means for ever.
	Retention time.Duration
	// What says what the topic contains, for documentation and `mintlake config`.
	What string
}

const day = 24 * time.Hour

// Topics returns every topic that Mintlake writes.
func Topics() []Topic {
	return []Topic{
		{TopicTokenEvents, 4, 0, "token events by mint: the source of truth"},
		{TopicSwaps, 4, 30 * day, "swap legs, one record per leg and mint; aggregators' routes; liquidity added and removed"},
		{TopicPools, 4, 0, "pools that were created or seen in a swap"},
		{TopicBalances, 4, 7 * day, "changes of token accounts, by mint"},
		{TopicTransfers, 4, 7 * day, "movements of tokens, by mint"},
		{TopicBalanceBases, 4, 84 * time.Hour, "open token accounts as they were once a day, by mint"},
		{TopicSlots, 1, 30 * day, "slot ledger and source status"},
		{TopicIdentity, 1, 0, "which chain the log is of, and which validator's snapshot filled it"},
		{TopicTransactions, 1, 6 * time.Hour, "raw filtered transactions and ends of slots for the public stream, in the order of the log"},
		{TopicEnrichmentRequests, 4, 7 * day, "mints whose facts are asked for"},
		{TopicEnrichments, 4, 0, "facts that were read: accounts, off-chain metadata, logos"},
		{TopicDeadLetters, 1, 30 * day, "what could not be processed, with its reason"},
		{TopicUnknowns, 1, 30 * day, "what rooms met on the chain and do not know, with a sample of each"},
		{TopicGatewayKeys, 1, 0, "changes of API keys: kept for ever and never compacted, as they are the log of who did what"},
		{TopicGatewayUsage, 1, 30 * day, "what API keys used, by minute and method"},
	}
}

// Config returns the topic's settings by their Kafka names. It always sets both the retention by
// time and the retention by size, because brokers' defaults would delete records that must stay.
func (t Topic) Config() map[string]string {
	retention := int64(-1)
	if t.Retention > 0 {
		retention = t.Retention.Milliseconds()
	}
	return map[string]string{
		"cleanup.policy":  "delete",
		"retention.ms":    strconv.FormatInt(retention, 10),
		"retention.bytes": "-1",
	}
}
