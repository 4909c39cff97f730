module example.com/kpulse

go 1.24
