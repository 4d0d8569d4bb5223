package jsonrpc

import (
	"github.com/mintlake/mintlake/access/keys"
	"github.com/mintlake/mintlake/access/usage"
)

// scanUnits is the weight of a call that makes an upstream go through an index or a whole block.
const scanUnits = 10

// unitsOf returns the weight with which a call counts as usage of its key.
func unitsOf(method string) uint64 {
	switch method {
	case "getProgramAccounts", "getTokenAccountsByOwner", "getTokenAccountsByDelegate", "getTokenLargestAccounts", "getLargestAccounts", "getSupply",
		"getSignaturesForAddress", "getBlock", "getBlocks", "getBlocksWithLimit", "searchAssets",
		"getTokenAccounts", "getAssetsByOwner":
		return scanUnits
	}
	return 1
}

// countRefused counts the calls of a request that exceeds the key's limit as refused. req is nil if
// the body could not be read. Then it counts one call.
func (g *Gateway) countRefused(pass *keys.Pass, req *request) {
	if req == nil {
		pass.Count(other, usage.Counts{Refused: 1})
		return
	}
	for _, it := range req.items {
		method := other
		if it.call != nil {
			method = g.metrics.label(it.call.Method)
		}
		pass.Count(method, usage.Counts{Refused: 1})
	}
}
