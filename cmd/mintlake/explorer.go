package main

import (
	"slices"

	"github.com/mintlake/mintlake/web"
)

// pageLinks returns the URLs of other services to which the explorer's pages link.
func (s *system) pageLinks() web.Links {
	return web.Links{Swap: s.swapOrigin, Chain: s.chainExplorer()}
}

// swapOrigin returns the URL of the swap API for the explorer; empty if there is none. It is the
// setting api.swap_url, or else the address of the swap API in this process if that is on loopback.
// If the swap API listens for other machines, only the setting can tell its public URL.
func (s *system) swapOrigin() string {
	if s.cfg.API.SwapURL != "" {
		return s.cfg.API.SwapURL
	}
	url, _ := s.swapURL.Load().(string)
	return url
}

// chainExplorer returns the explorer to which the pages' links lead; empty if there is none. No
// other explorer knows the demo chain.
func (s *system) chainExplorer() string {
	switch {
	case s.cfg.API.ChainExplorer == "none", s.cfg.API.ChainExplorer == "" && slices.ContainsFunc(s.cfg.Source, isDemo):
		return ""
	case s.cfg.API.ChainExplorer == "":
		return "https://explorer.solana.com"
	}
	return s.cfg.API.ChainExplorer
}
