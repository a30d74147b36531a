#pragma once
#include <locale.h>  // NOLINT: uselocale is POSIX's
#include <clocale>
#include <string_view>

namespace slipstream {

/// During its lifetime, this thread formats and parses numbers with a decimal point, whatever the locale of the
/// process. Functions such as printf, std::to_string and std::stod depend on the locale.
class DecimalPoint {
 public:
  DecimalPoint() {
    if (std::string_view(std::localeconv()->decimal_point) == ".") return;
    before_ = uselocale(locale_t{});
    with_point_ = newlocale(LC_NUMERIC_MASK, "C", duplocale(before_));
    if (with_point_) uselocale(with_point_);
  }
  ~DecimalPoint() {
    if (!with_point_) return;
    uselocale(before_);
    freelocale(with_point_);
  }
  DecimalPoint(const DecimalPoint&) = delete;
  DecimalPoint& operator=(const DecimalPoint&) = delete;

 private:
  locale_t before_{}, with_point_{};
};

}  // namespace slipstream
