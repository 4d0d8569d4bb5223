package cli

import (
	"context"
	"net/url"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mintlake/mintlake/client"
	"github.com/mintlake/mintlake/client/rest"
)

const jsonType = "application/json"

// resourceRows is how many rows a resource has on one page.
const resourceRows = 200

// addResources adds resources for what does not fit into a tool's answer: whole rows, long pages,
// the whole status.
func (a *ask) addResources(server *mcp.Server) {
	for _, r := range []struct{ uri, description string }{
		{"mintlake://tokens/{mint}", "a token with all its fields, the market by windows, lists, evidence, and where each field came from"},
		{"mintlake://tokens/{mint}/{part}{?cursor}", "200 rows of a token: part is history, trades, pools, holders, accounts, transfers, ohlcv or liquidity; cursor is the next of the page before"},
		{"mintlake://owners/{owner}/{part}{?cursor}", "200 rows of a wallet: part is tokens, accounts or transfers; cursor is the next of the page before"},
		{"mintlake://pools/{pool}/{part}{?cursor}", "200 rows of a pool: part is liquidity (changes of it) or reserves (by the hour); cursor is the next of the page before"},
	} {
		server.AddResourceTemplate(&mcp.ResourceTemplate{URITemplate: r.uri, Name: r.uri, Description: r.description, MIMEType: jsonType}, a.readResource)
	}
	server.AddResource(&mcp.Resource{URI: "mintlake://status", Name: "status", Description: "all that the node says of itself", MIMEType: jsonType}, a.readResource)
}

// readResource reads a resource. Its texts are not cut, but characters that cannot be seen are left
// out.
func (a *ask) readResource(ctx context.Context, request *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	uri := request.Params.URI
	text, err := a.resource(ctx, uri)
	if client.IsNotFound(err) || text == nil && err == nil {
		return nil, mcp.ResourceNotFoundError(uri)
	}
	if err == nil {
		text, err = shorten(text, short{})
	}
	if err != nil {
		return nil, explain(err)
	}
	return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: uri, MIMEType: jsonType, Text: string(text)}}}, nil
}

// resource returns the answer of the API that uri stands for, or nil if there is no such resource.
func (a *ask) resource(ctx context.Context, uri string) ([]byte, error) {
	u, err := url.Parse(uri)
	if err != nil || u.Scheme != "mintlake" {
		return nil, nil
	}
	key, part, _ := strings.Cut(strings.TrimPrefix(u.Path, "/"), "/")
	if u.Host+u.Path == "status" {
		return body(a.REST.GetStatusWithResponse(ctx))
	}
	if !address.MatchString(key) {
		return nil, nil
	}
	limit, cursor := int32(resourceRows), given(u.Query().Get("cursor"))
	switch u.Host {
	case "tokens":
		return a.tokenResource(ctx, key, part, &limit, cursor)
	case "owners":
		return a.ownerResource(ctx, key, part, &limit, cursor)
	case "pools":
		return a.poolResource(ctx, key, part, &limit, cursor)
	}
	return nil, nil
}

func (a *ask) tokenResource(ctx context.Context, mint, part string, limit *int32, cursor *string) ([]byte, error) {
	yes := true
	switch part {
	case "":
		return body(a.REST.GetTokenWithResponse(ctx, mint, &rest.GetTokenParams{Evidence: &yes, Provenance: &yes, Market: &yes, Windows: &yes, Lists: &yes}))
	case "history":
		return body(a.REST.GetHistoryWithResponse(ctx, mint, &rest.GetHistoryParams{Limit: limit, Before: cursor}))
	case "trades":
		return body(a.REST.GetTradesWithResponse(ctx, mint, &rest.GetTradesParams{Limit: limit, Before: cursor}))
	case "pools":
		return body(a.REST.GetPoolsWithResponse(ctx, mint, &rest.GetPoolsParams{Limit: limit}))
	case "holders":
		return body(a.REST.GetHoldersWithResponse(ctx, mint, &rest.GetHoldersParams{Limit: limit, Cursor: cursor}))
	case "accounts":
		return body(a.REST.GetAccountsWithResponse(ctx, mint, &rest.GetAccountsParams{Limit: limit}))
	case "transfers":
		return body(a.REST.GetTransfersWithResponse(ctx, mint, &rest.GetTransfersParams{Limit: limit, Cursor: cursor}))
	case "ohlcv":
		return body(a.REST.GetCandlesWithResponse(ctx, mint, &rest.GetCandlesParams{Limit: limit}))
	case "liquidity":
		return body(a.REST.GetLiquidityHistoryWithResponse(ctx, mint, &rest.GetLiquidityHistoryParams{Limit: limit}))
	}
	return nil, nil
}

func (a *ask) ownerResource(ctx context.Context, owner, part string, limit *int32, cursor *string) ([]byte, error) {
	switch part {
	case "tokens":
		return body(a.REST.GetOwnerTokensWithResponse(ctx, owner, &rest.GetOwnerTokensParams{Limit: limit, Cursor: cursor}))
	case "accounts":
		return body(a.REST.GetOwnerAccountsWithResponse(ctx, owner, &rest.GetOwnerAccountsParams{Limit: limit, Cursor: cursor}))
	case "transfers":
		return body(a.REST.GetOwnerTransfersWithResponse(ctx, owner, &rest.GetOwnerTransfersParams{Limit: limit, Cursor: cursor}))
	}
	return nil, nil
}

func (a *ask) poolResource(ctx context.Context, pool, part string, limit *int32, cursor *string) ([]byte, error) {
	switch part {
	case "liquidity":
		return body(a.REST.GetPoolLiquidityWithResponse(ctx, pool, &rest.GetPoolLiquidityParams{Limit: limit, Before: cursor}))
	case "reserves":
		return body(a.REST.GetPoolLiquidityHistoryWithResponse(ctx, pool, &rest.GetPoolLiquidityHistoryParams{Limit: limit}))
	}
	return nil, nil
}
