module g4

go 1.19
