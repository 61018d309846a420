module example

go 1.19

require g4 v0.0.0

replace g4 => ../../bindings/go
