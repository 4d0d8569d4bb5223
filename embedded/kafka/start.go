package kafka

import "context"

// Start runs a new broker in a goroutine, and returns it as soon as it serves. The end of ctx ends
// only the wait for that, not the broker. stop ends the broker, waits for Run and returns its
// error. Call stop once.
func Start(ctx context.Context, cfg Config, deps Deps) (broker *Broker, stop func() error, err error) {
	if broker, err = New(cfg, deps); err != nil {
		return nil, nil, err
	}
	running, cancel := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan error, 1)
	go func() { ended <- broker.Run(running) }()
	stop = func() error {
		cancel()
		return <-ended
	}
	if err := broker.WaitReady(ctx); err != nil {
		_ = stop() // WaitReady has returned this error already, or that of ctx
		return nil, nil, err
	}
	return broker, stop, nil
}
