package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"reflect"

	"github.com/mintlake/mintlake/registry/registrytest"
	"github.com/mintlake/mintlake/replica/search"
)

// checkAll compares pages and totals with those of the scan.
func checkAll(ctx context.Context, ours *mintlake, c *registrytest.Corpus, o *options) error {
	scan := search.NewScan()
	loadInto(ctx, scan, c, o.tokens)
	o.queries = o.check/4 + 1
	random := rand.New(rand.NewPCG(o.seed, 6)) //nolint:gosec // chance that is the same each time
	done := 0
	for _, class := range makeQueries(c, o) {
		for _, q := range class.queries {
			query := search.Query{
				Text: q.text, IncludeToken22: random.IntN(4) > 0, Limit: 1 + random.IntN(100), Offset: random.IntN(3) * random.IntN(100),
			}
			if random.IntN(10) == 0 {
				query.Sort = search.Sort(random.IntN(5))
			}
			want, got := scan.Search(query), ours.index.Search(query)
			if len(want.Hits) != len(got.Hits) || len(want.Hits) > 0 && !reflect.DeepEqual(want, got) || want.Total != got.Total {
				return fmt.Errorf("%+v: %d of %d, the scan says %d of %d", query, len(got.Hits), got.Total, len(want.Hits), want.Total)
			}
			done++
			if ctx.Err() != nil {
				return ctx.Err()
			}
		}
	}
	fmt.Printf("%d queries answered as by looking at each of %d tokens\n", done, o.tokens)
	return nil
}
