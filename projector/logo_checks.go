package projector

import (
	"context"
	"encoding/hex"
	"math"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"github.com/mintlake/mintlake/internal/clickhouse"
	"github.com/mintlake/mintlake/registry"
	"github.com/mintlake/mintlake/schemas/eventspb"
)

const tableLogoChecks = "logo_checks_raw"

func logoCheckColumns() []clickhouse.Column {
	return []clickhouse.Column{
		{Name: "mint", Type: "String"},
		{Name: "slot", Type: "UInt64"},
		{Name: "check_number", Type: "UInt64"},
		{Name: "url", Type: "String"},
		{Name: "status", Type: "LowCardinality(String)"},
		{Name: "content_hash", Type: "String"},
		{Name: "content_type", Type: "LowCardinality(String)"},
		{Name: "size", Type: "UInt64"},
		{Name: "width", Type: "UInt32"},
		{Name: "height", Type: "UInt32"},
		{Name: "perceptual_hash", Type: "Nullable(UInt64)"},
		{Name: "animated", Type: "Bool"},
		{Name: "content_verified", Type: "Bool"},
		{Name: "error_class", Type: "LowCardinality(String)"},
		{Name: "http_status", Type: "UInt16"},
		{Name: "failures", Type: "UInt32"},
		{Name: "checked_at", Type: "DateTime64(3, 'UTC')"},
		{Name: "next_check_at", Type: "Nullable(DateTime64(3, 'UTC'))"},
	}
}

func (c *ClickHouse) insertLogoChecks(ctx context.Context, checks []*eventspb.Enrichment) error {
	return c.insert(ctx, tableLogoChecks, logoCheckColumns(), len(checks), func(batch driver.Batch, i int) error {
		logo := checks[i].GetLogo()
		status := registry.LogoBroken
		if logo.GetStatus() == eventspb.LogoStatus_LOGO_STATUS_OK {
			status = registry.LogoOK
		}
		return batch.Append(keyText(checks[i].GetMint()), checks[i].GetSlot(), logo.GetCheck(), logo.GetUrl(), status,
			hex.EncodeToString(logo.GetContentHash()), logo.GetContentType(), logo.GetSize(), logo.GetWidth(), logo.GetHeight(), logo.PerceptualHash,
			logo.GetAnimated(), logo.GetContentVerified(), logo.GetErrorClass(), uint16(min(logo.GetHttpStatus(), math.MaxUint16)), logo.GetFailures(),
			millisecond(logo.GetCheckedAtMs()), nextCheck(logo.GetNextCheckAtMs()))
	})
}

// millisecond converts a time and limits it to the years 1970 to 2100, which DateTime64(3) can
// hold.
func millisecond(ms int64) time.Time {
	const last = 4_102_444_800_000 // the year 2100
	return time.UnixMilli(min(max(ms, 0), last)).UTC()
}

func nextCheck(ms int64) *time.Time {
	if ms <= 0 {
		return nil
	}
	at := millisecond(ms)
	return &at
}
