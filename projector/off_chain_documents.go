package projector

import (
	"context"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"github.com/mintlake/mintlake/internal/clickhouse"
	"github.com/mintlake/mintlake/registry"
	"github.com/mintlake/mintlake/schemas/eventspb"
)

const tableOffchainDocuments = "off_chain_documents_raw"

func offchainDocumentColumns() []clickhouse.Column {
	return []clickhouse.Column{
		{Name: "mint", Type: "String"},
		{Name: "slot", Type: "UInt64"},
		{Name: "uri", Type: "String"},
		{Name: "document", Type: "String"},
		{Name: "document_size", Type: "UInt64"},
		{Name: "content_verified", Type: "Bool"},
	}
}

func (c *ClickHouse) insertOffchainDocuments(ctx context.Context, documents []*eventspb.Enrichment) error {
	return c.insert(ctx, tableOffchainDocuments, offchainDocumentColumns(), len(documents), func(batch driver.Batch, i int) error {
		document := documents[i].GetOffchain()
		return batch.Append(keyText(documents[i].GetMint()), documents[i].GetSlot(), registry.Text(document.GetUri()), string(document.GetRaw()),
			document.GetRawSize(), document.GetContentVerified())
	})
}
