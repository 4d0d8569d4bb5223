// Package sharedcall shares a call among all callers that want its result at the same time.
//
// In: a key and a call. Out: the call's result. Guarantees: a call goes on when its callers leave,
// as others may come. It ends after its own time limit. Its result is not kept for later callers.
package sharedcall

import (
	"context"
	"time"

	"golang.org/x/sync/singleflight"
)

// Group shares the calls that have one key. Safe for concurrent use; the zero value is ready.
type Group[T any] struct{ calls singleflight.Group }

// Do makes a call, or waits for the one under way with the same key. The call gets a context with
// the values of ctx that ends after patience. The error is the call's, or ctx's if that ends first.
func (g *Group[T]) Do(ctx context.Context, key string, patience time.Duration, call func(ctx context.Context) (T, error)) (T, error) {
	return g.Begin(ctx, key, patience, call).Wait(ctx)
}

// Begin makes or joins a call as Do does, but does not wait for it.
func (g *Group[T]) Begin(ctx context.Context, key string, patience time.Duration, call func(ctx context.Context) (T, error)) Call[T] {
	detached := context.WithoutCancel(ctx)
	return Call[T]{g.calls.DoChan(key, func() (any, error) {
		ctx, cancel := context.WithTimeout(detached, patience)
		defer cancel()
		value, err := call(ctx)
		return value, err
	})}
}

// Call is a call under way.
type Call[T any] struct{ done <-chan singleflight.Result }

// Wait returns the call's result, or ctx's error if that ends first. It may be called once.
func (c Call[T]) Wait(ctx context.Context) (value T, err error) {
	select {
	case result := <-c.done:
		value, _ = result.Val.(T) // if T is an interface, a nil value is no T and stays nil
		return value, result.Err
	case <-ctx.Done():
		return value, ctx.Err()
	}
}
