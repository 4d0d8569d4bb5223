module github.com/rpcpool/yellowstone-grpc/examples/golang

go 1.26.0

require (
	google.golang.org/grpc v1.75.0
	google.golang.org/protobuf v1.36.9
)
