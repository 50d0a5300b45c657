#include <cstdio>
int main() { std::puts("seedbed"); }
